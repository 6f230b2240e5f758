package pgstore

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// linger is how long a name counts as listened to after the last waiter left: longer than between two waiters of a
// contended name.
const linger = time.Second

// hub knows who waits here for messages of which name, and counts what was heard. All names share one subscription.
type hub struct {
	me string // this client, as messages call it

	mu    sync.Mutex // guards what is below, and the lines
	lines map[string]*line
	left  []leaving // lines that were left, the earliest first
	sub   uint64    // which subscription stands; 0: none
	made  uint64    // how many there were
	ready chan struct{}
	heed  func(key string) // see store.Host; called without mu
	deaf  bool             // as the last connection that listened found, or the server's refusal of one
}

// line is one name that somebody listens to, or did a moment ago.
type line struct {
	name, key string
	tickets   map[*ticket]struct{}
	messages  uint64
	left      time.Time // when the last ticket left
	rivals
	turns
}

type leaving struct {
	line *line
	at   time.Time
}

// rivals are the other clients that want the lock. PostgreSQL counts nobody who hears a message, so the messages say
// who had the lock, or waits for it anew.
type rivals struct {
	last      map[string]uint64 // how many releases were heard when each one was heard of last
	mine      [2]uint64         // the numbers of this client's last two
	announced bool              // this client has told that it waits
}

// count is how many there are, as seen from a release of this client whose message may be the last that was heard, or
// be under way: those who were heard of since the one before it, or since the one before that. Where all take turns
// these are all who want it.
func (r *rivals) count() (n int) {
	for from, number := range r.last {
		if number > r.mine[0] {
			n++
		} else {
			delete(r.last, from)
		}
	}
	return n
}

func (r *rivals) hear(from string, number uint64) {
	if r.last == nil {
		r.last = make(map[string]uint64)
	}
	r.last[from] = number
}

// ticket implements [store.Ticket].
type ticket struct {
	hub  *hub
	line *line
	c    chan struct{}
}

func (h *hub) init() { h.lines, h.ready = make(map[string]*line), make(chan struct{}) }

func (h *hub) listen(name, key string) *ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweepLocked()
	l := h.lines[name]
	if l == nil {
		l = &line{name: name, tickets: make(map[*ticket]struct{})}
		h.lines[name] = l
	}
	if key != "" {
		l.key = key
	}
	t := &ticket{h, l, make(chan struct{}, 1)}
	l.tickets[t] = struct{}{}
	return t
}

// sweepLocked forgets lines that nobody has listened to for a while.
func (h *hub) sweepLocked() {
	now, n := time.Now(), 0
	for n < len(h.left) && now.Sub(h.left[n].at) >= linger {
		if l := h.left[n].line; len(l.tickets) == 0 && l.left.Equal(h.left[n].at) {
			delete(h.lines, l.name)
		}
		n++
	}
	h.left = h.left[n:]
}

// heard is how many messages of a name were heard; zero if nobody listens to it.
func (h *hub) heard(name string) store.Heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweepLocked()
	return h.heardLocked(h.lines[name])
}

func (h *hub) heardLocked(l *line) store.Heard {
	if l == nil || h.sub == 0 {
		return store.Heard{}
	}
	return store.Heard{Subscription: h.sub, Messages: l.messages}
}

// rivals is how many other clients want a lock, as far as was heard.
func (h *hub) rivals(name string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil {
		return l.count()
	}
	return 0
}

// waiting is those of names that somebody waits for, and whether messages arrive. If none do, others are told all the
// same: those who hear of it leave room for one that hears nothing, too.
func (h *hub) waiting(names []string) (some []string, hears bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if l := h.lines[name]; l != nil && len(l.tickets) > 0 {
			some = append(some, name)
		}
	}
	return some, h.sub != 0
}

// announces returns those of names of which this client has to tell that it waits: nobody can have heard of it. It has
// told that then.
func (h *hub) announces(names []string) (some []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if l := h.lines[name]; l != nil && !l.announced {
			l.announced = true
			some = append(some, name)
		}
	}
	return some
}

// stands says that messages arrive from now on: all who wait have a look, since they may have missed some.
func (h *hub) stands() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	h.sub, h.deaf = h.made, false
	for _, l := range h.lines {
		l.messages, l.rivals = 0, rivals{}
		l.wakeLocked()
	}
	close(h.ready)
}

// broke says that messages may be missed from now on.
func (h *hub) broke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sub != 0 {
		h.sub, h.ready = 0, make(chan struct{})
	}
}

// deafened says that no messages arrive, and that this is not over in a moment.
func (h *hub) deafened() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deaf = true
}

func (h *hub) isDeaf() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deaf
}

// message takes in that a client released a lock.
func (h *hub) message(from, name string) {
	h.mu.Lock()
	l := h.lines[name]
	key := ""
	if l != nil && h.sub != 0 {
		l.messages++
		if from == h.me {
			l.mine, l.announced = [2]uint64{l.mine[1], l.messages}, true
		} else {
			l.hear(from, l.messages)
		}
		l.wakeLocked()
		key = l.key
	}
	h.mu.Unlock()
	if key != "" {
		h.heed(key)
	}
}

// announced takes in that a client waits for a lock.
func (h *hub) announced(from, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil && h.sub != 0 && from != h.me {
		l.hear(from, l.messages+1) // as if it had been released by it: it counts in this round
	}
}

func (l *line) wakeLocked() {
	for t := range l.tickets {
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
}

// C implements [store.Ticket].
func (t *ticket) C() <-chan struct{} { return t.c }

// Ready implements [store.Ticket].
func (t *ticket) Ready() <-chan struct{} {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return t.hub.ready
}

// Heard implements [store.Ticket].
func (t *ticket) Heard() store.Heard {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return t.hub.heardLocked(t.line)
}

// Leave implements [store.Ticket].
func (t *ticket) Leave() {
	h, l := t.hub, t.line
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, in := l.tickets[t]; !in {
		return
	}
	delete(l.tickets, t)
	if len(l.tickets) == 0 {
		l.left = time.Now()
		h.left = append(h.left, leaving{l, l.left})
	}
	h.sweepLocked()
}
