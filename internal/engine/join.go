package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// shares has h be joined by others, if it is such a hold: one that this waiter's own request took when Redis let
// readers in. What is inside a writer's hold was let in by that, whoever waits. Trip is how long the request took.
//
// Readers that share a grant are decided about in package hold. What is here is when a grant may be joined at all:
// it is one that a request of this process was granted a short time ago, by the script that looks whether a writer
// waits. A renewal does not look, so it makes no grant any younger. A writer that comes to its gate just after that
// look waits for the readers that join within the time of a run, and then no more.
func (l *leader) shares(h *Hold, trip time.Duration) {
	if joins(l.req, l.under) {
		l.engine.trip.Store(int64(trip))
		h.Share(h.Start() + localqueue.JoinTime(trip))
	}
}

// join has a request come in by a hold that lives here; nil if it has to ask.
func (e *Engine) join(ctx context.Context, req Request, under outer) *hold.Level {
	if !joins(req, under) {
		return nil
	}
	h := e.table.joinable(req.Proto)
	if h == nil {
		return nil
	}
	l := h.Join(req.want())
	if l == nil || !h.open(ctx, l, req) {
		return nil
	}
	return l
}

// open gives a level that joined h its context. If it reports false, the level is out again.
func (h *Hold) open(ctx context.Context, l *hold.Level, req Request) bool {
	ctx, owner := req.told.Holds(ctx, h.told(req), h.fence, l.Since())
	if l.Open(ctx, owner) {
		return true
	}
	Ended(owner, h.overCause()) // it was lost while the observer was told of it
	h.withdraw(l)
	return false
}

// withdraw takes back a level that joined. If the others were unlocked meanwhile, nobody else is left to release the
// hold.
func (h *Hold) withdraw(l *hold.Level) {
	if h.Withdraw(l) {
		h.engine.sender.Spawn(func() { // or Close is at work, and ends it
			if h.Claim() {
				_ = h.finish(l, h.engine.releaseEnd(), nil)
			}
		})
	}
}

// joinable is the newest hold that may be joined, if nobody waits who would be overtaken. It may have ended when it is
// used, or be too old to be joined: Join looks at both, under the hold's own mutex.
func (t *table) joinable(proto store.Protocol) *Hold {
	p := t.lock(proto.Key())
	defer p.mu.Unlock()
	s := p.keys[proto.Key()]
	if s == nil {
		return nil
	}
	h := s.newest()
	if h == nil || h.proto.Mode() != proto.Mode() || s.queue != nil && !s.queue.Join(proto) {
		return nil
	}
	return h
}
