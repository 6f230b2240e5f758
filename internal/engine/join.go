package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Readers of one process may have one grant together: the first asked Redis for it, the others join it and send
// nothing. Each has levels, a context and limits of its own; validity, renewal and loss are the grant's. It is
// released when the last of them leaves, whoever that is.
//
// Redis sees one reader with one level, and with those that are nested in one reader or another. Its field and
// hold keys are what they are for any reader, so that Java reads them as ever.

// shareMost is how many levels a grant has at most that somebody joins: who leaves looks through them.
const shareMost = 64

// share is who has a grant that may be joined. It is guarded by the hold's mutex, except for until.
type share struct {
	until   time.Duration // it is joined before that; constant
	readers int32         // that have a level of it
	first   reader        // who asked Redis
	since   time.Duration // when that one came who left last, which is told by whoever releases
}

// reader is one of those that have a grant together: what its Lock call has of it. It is guarded by the hold's mutex.
type reader struct {
	hold   *Hold
	start  time.Duration // when it came
	levels int32         // its own, those under way included
	limit  *holdLimit
	err    error // what it ended with, if that was without its doing
	told   bool  // that it is done; or somebody else is about to tell
}

// shares has h be joined by others, if it is such a hold: one that this waiter's own request took when Redis let
// readers in. What is inside a writer's hold was let in by that, whoever waits. Trip is how long the request took.
func (l *leader) shares(h *Hold, trip time.Duration) {
	if !joins(l.req, l.under) {
		return
	}
	l.engine.trip.Store(int64(trip))
	h.share = &share{until: h.start + localqueue.JoinTime(trip), since: h.start}
	h.share.first = reader{hold: h, start: h.start}
}

// firstReader is the one who asked Redis; nil if nobody else may have the hold.
func (h *Hold) firstReader() *reader {
	if h.share == nil {
		return nil
	}
	return &h.share.first
}

// join has a request come in by a hold that lives here; nil if it has to ask.
func (e *Engine) join(ctx context.Context, req Request, under outer) *Level {
	if !joins(req, under) {
		return nil
	}
	h := e.table.joinable(req.Proto)
	if h == nil {
		return nil
	}
	l := h.join(ctx, req)
	if l != nil {
		e.events.acquired(req.Proto.Name(), l.reader.start)
	}
	return l
}

// joinable is the newest hold that may be joined, if nobody waits who would be overtaken.
func (t *table) joinable(proto store.Protocol) *Hold {
	p := t.lock(proto.Key())
	defer p.mu.Unlock()
	s := p.keys[proto.Key()]
	if s == nil || s.newest == nil || s.newest.proto.Mode() != proto.Mode() || s.queue != nil && !s.queue.Join(proto) {
		return nil
	}
	return s.newest
}

// join adds a reader, if Redis would let it in the same and the hold is sure to stand. It is nil if Redis is to be
// asked:
//
//   - the request that took the hold was sent some time ago: a writer may have shut the gate since;
//   - nobody is in any more, or the hold is being released or exported: whether somebody is, is decided under the mutex
//     under which the last one leaves;
//   - the lease is half over, or its last renewal failed;
//   - the new one wants another lease than Redis was asked for;
//   - a step of the levels is under way or may still be, which sets leases.
func (h *Hold) join(ctx context.Context, req Request) *Level {
	e := h.engine
	h.mu.Lock()
	defer h.mu.Unlock()
	now, until := e.clock.Now(), h.lease.ValidUntil()
	if h.state != live || now >= h.share.until || until-now <= req.Lease/2 || h.lease.Failing() ||
		req.Lease != h.asked || !h.settledLocked() || h.depth >= shareMost || !h.coversLocked(req.Lease) {
		return nil
	}
	l := &Level{hold: h, reader: &reader{hold: h, start: now}, lease: req.Lease, kept: true}
	l.openLocked(ctx)
	h.pushLocked(l)
	h.limitLocked(l.reader, nil, req.MaxHold)
	return l
}

// pushedLocked counts a level of the reader's.
func (r *reader) pushedLocked() {
	if r == nil {
		return
	}
	if r.levels++; r.levels == 1 {
		r.hold.share.readers++
	}
}

// closedLocked takes a level off.
func (r *reader) closedLocked() {
	if r == nil {
		return
	}
	if r.levels--; r.levels == 0 {
		r.hold.share.readers--
		r.limit.cancel()
	}
}

// countLocked is how many levels the Lock call has that l belongs to.
func (l *Level) countLocked() int32 {
	if l.reader != nil {
		return l.reader.levels
	}
	return l.hold.depth
}

// exceed ends a reader that has been in for as long as it may be. Others stay; if there are none, the hold ends.
func (r *reader) exceed() {
	h := r.hold
	e := h.engine
	h.mu.Lock()
	if h.state != live || r.levels == 0 || r.err != nil {
		h.mu.Unlock()
		return
	}
	err := e.lostError(h.proto, MaxHold, nil)
	r.err = err
	var levels []*Level
	for l := h.top; l != nil; l = l.below {
		if l.reader == r && !l.pending {
			levels = append(levels, l)
		}
	}
	last := h.longestLocked(e.clock.Now()) == 0
	h.mu.Unlock()
	if last { // and nobody joins any more
		h.loseSoon(MaxHold, nil)
		return
	}
	e.ender.add(func() {
		for _, l := range levels {
			l.end(err)
		}
		e.events.lost(err)
	})
}

// losersLocked ends all readers that have levels of a hold that is lost, and returns how many are to be told of it: one
// where nobody shares.
func losersLocked(levels []*Level, cause error) (losers int) {
	for _, l := range levels {
		if r := l.reader; r != nil && r.err == nil {
			r.err = cause
			losers++
		}
	}
	return max(losers, 1)
}

// doneLocked is called when a level was closed. It reports, once, that its Lock call is over and that nobody else tells
// of that, and since when it held: the last level of a hold that was lost, and of a reader that leaves a hold to
// others or has ended before it.
func (l *Level) doneLocked() (since time.Duration, done bool) {
	h, r := l.hold, l.reader
	if r == nil {
		return h.start, h.lost && h.depth == 0
	}
	if r.levels > 0 || r.told {
		return 0, false
	}
	r.told = true
	return r.start, h.state == live || h.lost || r.err != nil
}

// lastLocked notes that whoever closed l releases the hold, and tells of it.
func (l *Level) lastLocked() {
	if r := l.reader; r != nil {
		l.hold.share.since = r.start
		r.told = r.levels == 0
	}
}

// since is when that one came to the hold who left it last.
func (h *Hold) since() time.Duration {
	if h.share != nil {
		return h.share.since
	}
	return h.start
}

// levelsLocked is how many levels there are for Redis, where readers that have a hold together are one reader: what is
// nested in them counts besides.
func (h *Hold) levelsLocked() int32 {
	if h.share == nil || h.share.readers == 0 {
		return h.depth
	}
	return h.depth - (h.share.readers - 1)
}
