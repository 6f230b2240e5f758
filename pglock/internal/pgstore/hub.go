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
	mu    sync.Mutex // guards what is below, and the lines
	lines map[string]*line
	left  []leaving // lines that were left, the earliest first
	sub   uint64    // which subscription stands; 0: none
	made  uint64    // how many there were
	ready chan struct{}
	heed  func(key string) // see store.Host; called without mu
}

// line is one name that somebody listens to, or did a moment ago.
type line struct {
	name, key string
	tickets   map[*ticket]struct{}
	messages  uint64
	left      time.Time // when the last ticket left
}

type leaving struct {
	line *line
	at   time.Time
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

// listening is those of names that somebody waits for, if messages arrive.
func (h *hub) listening(names []string) (some []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sub == 0 {
		return nil
	}
	for _, name := range names {
		if l := h.lines[name]; l != nil && len(l.tickets) > 0 {
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
	h.sub = h.made
	close(h.ready)
	for _, l := range h.lines {
		l.messages = 0
		l.wakeLocked()
	}
}

// broke says that messages may be missed from now on.
func (h *hub) broke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sub != 0 {
		h.sub, h.ready = 0, make(chan struct{})
	}
}

// message takes in that a lock was released.
func (h *hub) message(name string) {
	h.mu.Lock()
	l := h.lines[name]
	key := ""
	if l != nil && h.sub != 0 {
		l.messages++
		l.wakeLocked()
		key = l.key
	}
	h.mu.Unlock()
	if key != "" {
		h.heed(key)
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
