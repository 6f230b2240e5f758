package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrNested refuses to export a hold that other levels still count on.
var ErrNested = errors.New("the hold has other levels that were not unlocked")

// Passage is a hold on its way to another process: in Redis, and in nobody's hands.
type Passage struct {
	ID    string
	Fence int64
}

// Export takes the hold that ctx carries out of this process. Its context ends first; then its lease
// is set anew, which tells whether it is still there. An export that is not confirmed is reclaimed,
// so that the hold is never in two processes.
func (e *Engine) Export(ctx context.Context, p store.Protocol) (Passage, error) {
	if !e.begin() {
		return Passage{}, e.refuse(p)
	}
	defer e.calls.Done()
	if err := p.Traits().Stays; err != nil {
		return Passage{}, err
	}
	l := e.carried(ctx, p)
	if l == nil {
		return Passage{}, &callError{kind: e.cfg.Errors.NotHeld, name: p.Name()}
	}
	h := l.hold
	if err := h.standing(l); err != nil {
		return Passage{}, err
	}
	h.mu.Lock()
	if h.state != live || h.depth != 1 || !l.open {
		h.mu.Unlock()
		return Passage{}, ErrNested
	}
	l.closeLocked()
	h.endLocked(e.cfg.Errors.Released)
	h.mu.Unlock()
	valid := e.watchdog.Stop(&h.lease) && h.valid()
	l.end(e.cfg.Errors.Released)
	defer e.table.drop(h, 0)
	if !valid {
		e.reclaim.add(p, h.id(), h.longest(), h.doubt)
		err := e.lostError(p, Expired, nil)
		e.events.lost(err)
		return Passage{}, err
	}
	if h.doubt > 0 && !e.past(p, h.doubt) {
		// A late copy of the acquisition could take the lock again under the exported id, after
		// the importer is done with it. It is refused when its not-after has passed.
		now := e.clock.Now()
		e.pause(background, e.clocks.Local(e.node(p.Key()), h.doubt, now)-now+time.Millisecond)
	}
	h.straighten()
	if err := e.confirmExport(h); err != nil {
		return Passage{}, err
	}
	e.events.released(p.Name(), h.start, nil)
	return Passage{ID: h.id(), Fence: h.fence}, nil
}

func (e *Engine) confirmExport(h *Hold) error {
	ttl := max(e.cfg.Lease, h.lease.ValidUntil()-e.clock.Now())
	end := e.clock.Now() + e.cfg.ReleaseTimeout
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		one := []store.Renewal{{Proto: h.proto, ID: h.id(), TTL: ttl}}
		e.store.Renew(e.within(background, e.limit(e.cfg.Lease)), one)
		err := one[0].Err
		switch kind := store.FaultOf(err); {
		case kind == store.FaultNone:
			return nil
		case isGone(err):
			lost := e.lostError(h.proto, Gone, nil)
			e.events.lost(lost)
			return lost
		case kind == store.FaultDefinite:
			end = 0
		}
		if e.clock.Now()+pause >= end || !e.pause(background, pause) {
			e.reclaim.add(h.proto, h.id(), max(h.longest(), ttl), h.doubt)
			return e.unavailable(h.proto, err)
		}
	}
}

// Import makes the hold of a passage this caller's, under a new id: the same passage cannot be taken
// twice, and nothing that the exporter sent late can touch it.
func (e *Engine) Import(ctx context.Context, req Request, from Passage) (*Level, error) {
	p := req.Proto
	if !e.begin() {
		return nil, e.refuse(p)
	}
	defer e.calls.Done()
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if err := p.Traits().Stays; err != nil {
		return nil, err
	}
	id, began := e.newID(), e.clock.Now()
	var unsure doubt
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		sent := e.askAdopt(ctx, req, from.ID, id, unsure)
		switch kind := store.FaultOf(sent.err); {
		case kind == store.FaultNone && sent.reply.Status == store.Late:
			continue
		case kind == store.FaultNone && sent.reply.Status == store.Gone:
			return nil, &callError{kind: e.cfg.Errors.NotHeld, name: p.Name()}
		case kind == store.FaultNone:
			return e.imported(ctx, req, id, from.Fence, began, unsure)
		case errors.Is(sent.err, errAbandoned):
			return nil, e.gaveUp(ctx, ctx, p, nil, nil)
		case kind == store.FaultAmbiguous:
			unsure.add(sent.start, sent.notAfter)
		}
		kind := store.FaultOf(sent.err)
		if kind == store.FaultDefinite || kind == store.FaultConflict ||
			e.clock.Now()-began > e.cfg.ReleaseTimeout || !e.pause(ctx, pause) {
			if unsure.any {
				e.reclaim.add(p, id, req.Lease, unsure.notAfter)
			}
			return nil, e.ended(ctx, p, sent.err)
		}
	}
}

// ended makes the error of a call that does not wait: Redis's, and the context's if that is over.
func (e *Engine) ended(ctx context.Context, p store.Protocol, err error) error {
	if store.FaultOf(err) != store.FaultConflict && (ctx.Err() != nil || e.isClosed()) {
		return e.gaveUp(ctx, ctx, p, nil, err)
	}
	return e.unavailable(p, err)
}

func (e *Engine) imported(
	ctx context.Context, req Request, id string, fence int64, began time.Duration, unsure doubt,
) (*Level, error) {
	h := e.newHold(req, id, fence, began, unsure.notAfter)
	e.table.add(h)
	if e.isClosed() {
		h.orphan()
		return nil, e.refuse(req.Proto)
	}
	l, ok := h.attach(ctx, req)
	if !ok {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, name: req.Proto.Name(), cause: opaque{h.overCause()}}
	}
	e.events.acquired(req.Proto.Name(), began)
	return l, nil
}

type adopted struct {
	start    time.Duration
	notAfter int64
	reply    store.AdoptReply
	err      error
}

func (e *Engine) askAdopt(
	ctx context.Context, req Request, from, id string, before doubt,
) adopted {
	p := req.Proto
	limit := e.limit(req.Lease)
	send := func(ctx context.Context) (sent adopted, err error) {
		node := e.node(p.Key())
		sent.start = e.clock.Now()
		sent.notAfter = e.clocks.NotAfter(node, sent.start, limit)
		ask := store.Ask{ID: id, Lease: req.Lease, NotAfter: sent.notAfter}
		sent.err = exchange(crash.Adopt, func() (err error) {
			sent.reply, err = p.Adopt(e.within(ctx, limit), from, ask)
			return err
		})
		e.clocks.Observe(node, sent.start, e.clock.Now(), sent.reply.Now)
		return sent, sent.err
	}
	sent, err := call(e, ctx, send, func(sent adopted, err error) {
		after := before
		if store.FaultOf(err) == store.FaultAmbiguous {
			after.add(sent.start, sent.notAfter)
		}
		if after.any || sent.reply.Status == store.Done || sent.reply.Status == store.Already {
			e.reclaim.add(p, id, req.Lease, after.notAfter)
		}
	})
	sent.err = err
	return sent
}
