package etcdstore

import (
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/holdfast-go/holdfast/internal/store"
)

// linger is how long a name is watched after the last waiter left.
const linger = time.Second

// hub has two keys watched for each waiter: the key that stands before its own, and its own, which an operator may
// delete, or the end of the client's lease. A watch needs no confirmation, since it misses nothing (see watcher). A
// waiter of which nothing is watched yet asks again.
//
// One waiter of a process asks for a name at a time, so a name has one place.
type hub struct {
	store *Store

	mu     sync.Mutex // guards what is below, and the lines
	lines  map[string]*line
	closed bool
}

// line is one name that a caller of this process waits for, or did a moment ago.
type line struct {
	key      string // for the engine
	tickets  map[*ticket]struct{}
	messages uint64
	id       string        // of the waiter; "": none is known
	made     int64         // at which revision its key was
	before   string        // what is watched beside it
	since    time.Duration // it has stood behind that
	watches  []int64       // their numbers; none: nothing is watched
	round    uint64        // of watches
	timer    *time.Timer   // until the line is forgotten
}

// ticket implements [store.Ticket].
type ticket struct {
	hub   *hub
	name  string
	line  *line
	c     chan struct{}
	ready <-chan struct{} // nil: the key before its own is watched since it was seen
}

// always is closed: where nothing is watched yet, the waiter asks again.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (h *hub) init(s *Store) { h.store, h.lines = s, make(map[string]*line) }

func (h *hub) lineLocked(name string) *line {
	l := h.lines[name]
	if l == nil {
		l = &line{tickets: make(map[*ticket]struct{})}
		h.lines[name] = l
	}
	return l
}

func (h *hub) listen(name, key string) *ticket {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lineLocked(name)
	if key != "" {
		l.key = key
	}
	t := &ticket{hub: h, name: name, line: l, c: make(chan struct{}, 1)}
	if len(l.watches) == 0 {
		t.ready = always
	}
	l.tickets[t] = struct{}{}
	return t
}

func (h *hub) heard(name string) store.Heard {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil && len(l.tickets) > 0 {
		return store.Heard{Subscription: 1, Messages: l.messages}
	}
	return store.Heard{}
}

// place is the revision at which the key was made of an id that waits, as far as is known; 0: it is not.
func (h *hub) place(name, id string) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil && l.id == id {
		return l.made
	}
	return 0
}

// behind says that the waiter's key stands behind another, as of a revision. Both are watched from then on. If it is
// not known which one is before it, nothing is: the waiter has to ask again.
func (h *hub) behind(name, id string, place, before *mvccpb.KeyValue, at int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	l := h.lineLocked(name)
	own, other := string(place.Key), ""
	if before != nil {
		other = string(before.Key)
	}
	if len(l.watches) > 0 && l.made == place.CreateRevision && l.before == other {
		return
	}
	h.haltLocked(l)
	l.id, l.made, l.before, l.since = id, place.CreateRevision, other, h.store.host.Clock.Now()
	if before == nil {
		return
	}
	round := l.round
	for _, key := range []string{own, other} {
		l.watches = append(l.watches, h.store.watcher.watch(key, at+1, func(int64) { h.wake(l, round) }))
	}
}

// rest is for how long the waiter before another one can be in its way at most, if nothing is renewed. To ask etcd for
// the lease would cost a request. The time falls from one call to the next: if it stayed the same, the engine would
// conclude that the lock is taken again and again, and have the waiter ask every 10 ms (see package engine, pace).
func (h *hub) rest(name string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	lease := h.store.lease
	if l := h.lines[name]; l != nil && l.before != "" {
		return lease - (h.store.host.Clock.Now()-l.since)%lease
	}
	return lease
}

// wake wakes those who wait when a key of a round was deleted, or when that cannot be seen any more: they look then.
func (h *hub) wake(l *line, round uint64) {
	h.mu.Lock()
	if l.round != round {
		h.mu.Unlock()
		return
	}
	h.haltLocked(l)
	l.before = ""
	l.messages++
	for t := range l.tickets {
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
	heed := l.key
	h.mu.Unlock()
	if heed != "" {
		h.store.host.Heard(heed)
	}
}

func (h *hub) haltLocked(l *line) {
	for _, number := range l.watches {
		h.store.watcher.drop(number)
	}
	l.watches = nil
	l.round++
}

// arrived says that the waiter of a name has the lock: nothing is to be watched for it.
func (h *hub) arrived(name string) { h.leave(name, "") }

// leave says that an id does not wait any more: the given one, or with "" any.
func (h *hub) leave(name, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[name]
	if l == nil || id != "" && l.id != id {
		return
	}
	h.haltLocked(l)
	l.id, l.made, l.before = "", 0, ""
	h.dropLocked(name, l)
}

// dropLocked forgets a line that nobody needs, after a while.
func (h *hub) dropLocked(name string, l *line) {
	if len(l.tickets) > 0 || l.id != "" || l.timer != nil {
		return
	}
	l.timer = time.AfterFunc(linger, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		l.timer = nil
		if len(l.tickets) == 0 && l.id == "" && h.lines[name] == l {
			delete(h.lines, name)
		}
	})
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, l := range h.lines {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

// C implements [store.Ticket].
func (t *ticket) C() <-chan struct{} { return t.c }

// Ready implements [store.Ticket].
func (t *ticket) Ready() <-chan struct{} { return t.ready }

// Heard implements [store.Ticket].
func (t *ticket) Heard() store.Heard {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	return store.Heard{Subscription: 1, Messages: t.line.messages}
}

// Leave implements [store.Ticket].
func (t *ticket) Leave() {
	t.hub.mu.Lock()
	defer t.hub.mu.Unlock()
	delete(t.line.tickets, t)
	t.hub.dropLocked(t.name, t.line)
}
