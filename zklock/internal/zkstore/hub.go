package zkstore

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// linger is how long a name is known after the last waiter left.
const linger = time.Second

// hub has two nodes watched for each waiter: the one that stands before its own, and its own, which an operator may
// delete. A watch is that of a connection, so each time the session is attached all its waiters are woken, and look.
// What is watched is noted before the server is asked to watch it, so no event is missed. A waiter of which nothing is
// watched yet asks again.
//
// One waiter of a process asks for a name at a time, so a name has one place.
type hub struct {
	store *Store

	mu      sync.Mutex // guards what is below, and the lines
	lines   map[string]*line
	watched map[string]*line // by the paths of nodes
	closed  bool
}

// line is one name that a caller of this process waits for, or did a moment ago.
type line struct {
	key      string // for the engine
	tickets  map[*ticket]struct{}
	messages uint64
	watching bool        // the waiter's node is watched, and the one before it
	timer    *time.Timer // until the line is forgotten
	waiter   waiting
}

// waiting is a waiter, and where its node stands.
type waiting struct {
	session *session
	id      string        // "": none is known
	own     string        // the path of its node
	before  string        // that of the one before it; "": it is not known
	rank    rank          // of its node
	on      int64         // the connection on which both are watched
	since   time.Duration // it has stood behind that
}

// rank is where a node stands among those of its name, as far as is known.
type rank int

const (
	rankUnknown rank = iota
	rankFirst
	rankSecond
	rankLater
)

// ticket implements [store.Ticket].
type ticket struct {
	hub   *hub
	name  string
	line  *line
	c     chan struct{}
	ready <-chan struct{} // nil: the node before its own is watched since it was seen
}

// always is closed: where nothing is watched yet, the waiter asks again.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (h *hub) init(s *Store) {
	h.store, h.lines, h.watched = s, make(map[string]*line), make(map[string]*line)
}

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
	if !l.watching {
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

// before is the path of the node before that of a waiter, as far as is known, and whether that is the first; "": it is
// not.
func (h *hub) before(name, id string) (other string, isFirst bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil && l.waiter.id == id {
		return l.waiter.before, l.waiter.rank == rankSecond
	}
	return "", false
}

// isFirst reports that a connection has told that the one before a waiter's node was deleted, which was the first, and
// nothing of the waiter's own.
func (h *hub) isFirst(on int64, name, id, own string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[name]
	return l != nil && l.waiter.id == id && l.waiter.own == own && l.waiter.on == on && l.waiter.rank == rankFirst
}

// behind says that the waiter's node stands behind another. It is called before the servers are asked to watch both, by
// a connection.
func (h *hub) behind(n *session, on int64, name, id string, at standing) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	l := h.lineLocked(name)
	since := l.waiter.since
	if l.waiter.before != at.before || l.waiter.own != at.path {
		h.haltLocked(l)
		since = h.store.host.Clock.Now()
	}
	l.waiter = waiting{session: n, id: id, own: at.path, before: at.before, rank: rankLater, on: on, since: since}
	if at.second {
		l.waiter.rank = rankSecond
	}
	l.watching = true
	h.watched[at.path], h.watched[at.before] = l, l
}

// passed says that the node before a waiter's is gone, and the waiter's own is there.
func (h *hub) passed(name, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil && l.waiter.id == id {
		h.haltLocked(l)
		h.passedLocked(l)
	}
}

// passedLocked notes that the node before a waiter's is gone. The node of a waiter which is the first by that is heeded
// until it has the lock.
func (h *hub) passedLocked(l *line) {
	w := &l.waiter
	w.before = ""
	switch w.rank {
	case rankLater:
		w.rank = rankUnknown
	case rankSecond, rankFirst: // it may have been told before
		w.rank = rankFirst
		h.watched[w.own] = l
	}
}

// rest is for how long the waiter before another one can be in its way at most, if nothing is renewed. The time falls
// from one call to the next: if it stayed the same, the engine would conclude that the lock is taken again and again,
// and have the waiter ask every 10 ms (see package engine, pace).
func (h *hub) rest(name string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	lease := h.store.lease
	if l := h.lines[name]; l != nil && l.waiter.before != "" {
		return lease - (h.store.host.Clock.Now()-l.waiter.since)%lease
	}
	return lease
}

// fired is told by a connection that a node has changed which was watched, and whether it was deleted.
func (h *hub) fired(on int64, path string, deleted bool) {
	h.mu.Lock()
	l := h.watched[path]
	if l == nil {
		h.mu.Unlock()
		return
	}
	heed := h.wakeLocked(l)
	switch {
	case path == l.waiter.own:
		l.waiter.rank = rankUnknown
	case deleted && l.waiter.on == on:
		h.passedLocked(l)
	default:
		l.waiter.before, l.waiter.rank = "", rankUnknown
	}
	h.mu.Unlock()
	if heed != "" {
		h.store.host.Heard(heed)
	}
}

// wakeAll wakes those who wait in a session: nothing is watched for them any more.
func (h *hub) wakeAll(n *session) {
	h.mu.Lock()
	var heed []string
	for _, l := range h.lines {
		if l.waiter.session == n && l.watching {
			if key := h.wakeLocked(l); key != "" {
				heed = append(heed, key)
			}
		}
	}
	h.mu.Unlock()
	for _, key := range heed {
		h.store.host.Heard(key)
	}
}

// wakeLocked wakes those who wait in a line, and returns the key of which the engine is to be told.
func (h *hub) wakeLocked(l *line) (heed string) {
	h.haltLocked(l)
	l.messages++
	for t := range l.tickets {
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
	return l.key
}

func (h *hub) haltLocked(l *line) {
	for _, path := range []string{l.waiter.own, l.waiter.before} {
		if h.watched[path] == l {
			delete(h.watched, path)
		}
	}
	l.watching = false
}

// leave says that an id does not wait any more, or has the lock.
func (h *hub) leave(name, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[name]
	if l == nil || l.waiter.id != id {
		return
	}
	h.haltLocked(l)
	l.waiter = waiting{}
	h.dropLocked(name, l)
}

// dropLocked forgets a line that nobody needs, after a while.
func (h *hub) dropLocked(name string, l *line) {
	if len(l.tickets) > 0 || l.waiter.id != "" || l.timer != nil {
		return
	}
	l.timer = time.AfterFunc(linger, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		l.timer = nil
		if len(l.tickets) == 0 && l.waiter.id == "" && h.lines[name] == l {
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
