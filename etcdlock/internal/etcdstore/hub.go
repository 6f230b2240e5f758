package etcdstore

import (
	"context"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// linger is how long a name is watched after the last waiter left.
const linger = time.Second

// hub watches what waiters wait for: the key that stands before theirs, and their own, which an operator may delete, or
// the end of the client's lease. A watch begins at the revision at which the key was seen, so it misses nothing that
// happened since, and needs no confirmation. A waiter of which nothing is watched yet asks again.
//
// One waiter of a process asks for a name at a time, so a name has one place.
type hub struct {
	store *Store

	mu      sync.Mutex // guards what is below, and the lines
	lines   map[string]*line
	watches sync.WaitGroup
	closed  bool
}

// line is one name that a caller of this process waits for, or did a moment ago.
type line struct {
	key      string // for the engine
	tickets  map[*ticket]struct{}
	messages uint64
	id       string             // of the waiter; "": none is known
	made     int64              // at which revision its key was
	before   string             // what is watched beside it
	stop     context.CancelFunc // of the watch; nil: nothing is watched
	timer    *time.Timer        // until the line is forgotten
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
	if l.stop == nil {
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
	if l.stop != nil && l.made == place.CreateRevision && l.before == other {
		return
	}
	l.haltLocked()
	l.id, l.made, l.before = id, place.CreateRevision, other
	if before == nil {
		return
	}
	ctx, cancel := context.WithCancel(h.store.life)
	l.stop = cancel
	for _, key := range []string{own, other} {
		h.watches.Go(func() { h.watch(ctx, name, l, key, at+1) })
	}
}

// watch wakes those who wait when a key is deleted, and when that can no longer be seen: they look then.
func (h *hub) watch(ctx context.Context, name string, l *line, key string, from int64) {
	events := h.store.cli.Watch(clientv3.WithRequireLeader(ctx), key, clientv3.WithRev(from), clientv3.WithFilterPut())
	for reply := range events {
		if reply.Err() != nil || len(reply.Events) > 0 {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	h.mu.Lock()
	l.haltLocked()
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

func (l *line) haltLocked() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
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
	l.haltLocked()
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
	h.closed = true
	for _, l := range h.lines {
		l.haltLocked()
		if l.timer != nil {
			l.timer.Stop()
		}
	}
	h.mu.Unlock()
	h.watches.Wait()
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
