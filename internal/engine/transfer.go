package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrNested refuses to export a hold that other levels still count on.
var ErrNested = errors.New("unlock the nested levels first")

var errUnconfirmed = errors.New("the hold that a message granted is not confirmed yet")

// Passage is a hold on its way to another process: in Redis, and in nobody's hands.
type Passage struct {
	ID    string
	Fence int64
	Keep  int64 // server time in µs until which the importer has the lock kept; 0: it has not
}

// A passage goes from one process to another like this:
//
//	exporter: the context ends; renewals stop; no copy of the acquisition can come any more
//	exporter: the client's full lease is set, which tells that the hold stands; Export returns the passage
//	          the passage travels, by whatever means; the lock is held by the old id, and in nobody's hands
//	importer: Redis replaces the old id by a new one, with a new lease; Import returns a context
//
// If the exporter dies after the second step, or the passage is lost, the lock is free when the lease is over. If the
// importer's request is carried out and its answer lost, it asks again by the same new id. A request of the
// exporter that arrives late, a renewal say, names the old id, and finds nothing.

// Export takes the hold that ctx carries out of this process. Its context ends first; then its lease
// is set anew, which tells whether it is still there. An export that is not confirmed is reclaimed,
// so that the hold is never in two processes.
//
// From the moment at which Export returns, anybody who has the passage may import it. So before that, nothing of this
// process may be under way that could touch the hold: its renewals have stopped, copies of its acquisition can come no
// more (outlast), and its count in Redis is one (straighten). The lease that Export sets is the time the importer has.
func (e *Engine) Export(ctx context.Context, p store.Protocol) (Passage, error) {
	if !e.sender.Begin() {
		return Passage{}, e.refuse(p)
	}
	defer e.sender.Done()
	if err := p.Traits().Stays; err != nil {
		return Passage{}, err
	}
	l := e.carried(ctx, p)
	if l == nil {
		return Passage{}, &callError{kind: e.cfg.Errors.NotHeld, of: p}
	}
	h := holdOf(l)
	if err := h.standing(l); err != nil {
		return Passage{}, err
	}
	if !h.awaitConfirmed(ctx) {
		return Passage{}, e.unavailable(p, errUnconfirmed)
	}
	alone, since, ok := h.Export(l)
	switch {
	case !ok:
		return Passage{}, ErrNested
	case !alone:
		return e.exportBeside(l)
	}
	passage, err := e.exportAlone(h, l, since)
	Ended(l.Owner(), cmp.Or(err, e.cfg.Errors.Exported))
	return passage, err
}

// exportAlone exports a hold that nobody else has, since an instant.
func (e *Engine) exportAlone(h *Hold, l *hold.Level, since time.Duration) (Passage, error) {
	p := h.proto
	valid := e.watchdog.Stop(&h.Lease) && h.Valid()
	l.End(e.cfg.Errors.Released)
	defer e.table.drop(h)
	if !valid {
		e.sender.Reclaim(h.asOrphan(), h.Longest())
		err := e.lostError(p, hold.Expired, nil)
		e.events.lost(err)
		return Passage{}, err
	}
	e.outlast(p, h.doubt)
	h.straighten()
	if err := e.confirmExport(h); err != nil {
		return Passage{}, err
	}
	e.leavePlaces(h)
	e.events.released(p.Name(), since, nil)
	return Passage{ID: h.id(), Fence: h.fence, Keep: h.KeptUntil()}, nil
}

// outlast waits until no late copy can come of the request that made a hold: it could take the lock again under the
// exported id, after the importer is done with it. It is refused when its not-after has passed. Nothing is waited for
// in the usual case, in which the request was answered the first time it was sent; and otherwise as long as a command
// may take, at most. The caller's context does not shorten it: by then the hold is in nobody's hands, and to return
// early would be to lose it.
func (e *Engine) outlast(p store.Protocol, notAfter int64) {
	if notAfter > 0 && !e.sender.Past(p.Key(), notAfter) {
		e.sender.Pause(background, e.sender.Local(p.Key(), notAfter)-e.clock.Now()+time.Millisecond)
	}
}

// confirmExport sets the lease of an exported hold anew and so finds out whether it is there. It is a renewal, because
// that creates nothing: a hold that is gone stays gone. If no answer comes within the release timeout, nobody can say
// whether the hold stands, and the caller gets no passage. So the id is reclaimed for as long as Redis may keep it,
// which includes the lease that was asked for just now.
func (e *Engine) confirmExport(h *Hold) error {
	ttl := max(e.cfg.Lease, h.Lease.ValidUntil()-e.clock.Now())
	end := e.clock.Now() + e.cfg.ReleaseTimeout
	var lost, failed error
	if !e.sender.Retry(background, end, func() request.Next {
		one := []store.Renewal{{Proto: h.proto, ID: h.id(), TTL: ttl}}
		e.store.Renew(e.sender.Within(background, e.sender.Limit(e.cfg.Lease)), one)
		failed = one[0].Err
		switch kind := store.FaultOf(failed); {
		case kind == store.FaultNone:
			return request.Settled
		case isGone(failed):
			lost = e.lostError(h.proto, hold.Gone, nil)
			e.leavePlaces(h)
			e.events.lost(lost)
			return request.Settled
		case kind == store.FaultDefinite:
			return request.GiveUp
		}
		return request.Later
	}) {
		e.sender.Reclaim(h.asOrphan(), max(h.Longest(), ttl))
		return e.unavailable(h.proto, failed)
	}
	return lost
}

// Import makes the hold of a passage this caller's, under a new id: the same passage cannot be taken
// twice, and nothing that the exporter sent late can touch it. If two processes import one passage at once, Redis
// replaces the old id once; the second finds it gone and is told that it is not held. An import whose answer was
// lost is asked again by the same new id, which is answered "already".
func (e *Engine) Import(ctx context.Context, req Request, from Passage) (*hold.Level, error) {
	p := req.Proto
	if !e.sender.Begin() {
		return nil, e.refuse(p)
	}
	defer e.sender.Done()
	if err := p.Traits().Stays; err != nil {
		return nil, err
	}
	req.told = e.tell(ctx, req, true)
	l, err := e.doImport(ctx, req, from)
	req.told.End(err)
	return l, err
}

// doImport is an Import that begins something.
func (e *Engine) doImport(ctx context.Context, req Request, from Passage) (*hold.Level, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	id, began := e.newID(), e.clock.Now()
	unsure, err := e.adopt(ctx, req, from.ID, store.Ask{ID: id, Lease: req.Lease})
	if err != nil {
		return nil, err
	}
	return e.imported(ctx, req, id, from, began, unsure)
}

// adopt has the store make a hold for the ask's id of another one, or beside it. If that is not there, the error
// matches NotHeld.
//
// The steps of a request whose outcome is unknown are those of an acquisition: each sending has a not-after, all
// have the same new id, "already" is this call's own work, and an id of which nothing is known in the end is
// reclaimed. That takes the hold from both sides, which is safe; the passage is used up then, and the caller is
// told that Redis did not answer.
func (e *Engine) adopt(ctx context.Context, req Request, from string, ask store.Ask) (unsure doubt, err error) {
	p := req.Proto
	var sent adopted
	if !e.sender.Retry(ctx, e.clock.Now()+e.cfg.ReleaseTimeout, func() request.Next {
		sent = e.askAdopt(ctx, req, from, ask, unsure)
		switch kind := store.FaultOf(sent.err); {
		case kind == store.FaultNone && sent.reply.Status == store.Late:
			sent.err = opaque{errClock}
			return request.AtOnce
		case kind == store.FaultNone, errors.Is(sent.err, request.ErrAbandoned):
			return request.Settled
		case kind == store.FaultDefinite, kind == store.FaultConflict:
			return request.GiveUp
		case kind == store.FaultAmbiguous:
			unsure.add(sent.Start, sent.NotAfter)
		}
		return request.Later
	}) {
		if unsure.any {
			e.sender.Reclaim(request.Orphan{Proto: p, ID: ask.ID, NotAfter: unsure.notAfter}, req.Lease)
		}
		return unsure, e.ended(ctx, p, sent.err)
	}
	switch {
	case sent.err != nil:
		return unsure, e.gaveUp(ctx, ctx, p, nil, nil)
	case sent.reply.Status == store.Gone:
		return unsure, &callError{kind: e.cfg.Errors.NotHeld, of: p}
	}
	return unsure, nil
}

// A call that does not wait for the lock has one reason to fail besides a refusal: nobody answered. If the caller's
// context ended meanwhile, that is the reason to name first, since the caller knows of it.

// ended makes the error of a call that does not wait: Redis's, and the context's if that is over.
func (e *Engine) ended(ctx context.Context, p store.Protocol, err error) error {
	if store.FaultOf(err) != store.FaultConflict && (ctx.Err() != nil || e.sender.Closed()) {
		return e.gaveUp(ctx, ctx, p, nil, err)
	}
	return e.unavailable(p, err)
}

// imported makes the local side of a hold that was adopted. Its validity counts from the first sending of the
// request, and its token is the exporter's: it is one possession of the lock, in two processes one after the other.
func (e *Engine) imported(
	ctx context.Context, req Request, id string, from Passage, began time.Duration, unsure doubt,
) (*hold.Level, error) {
	h := e.newHold(req, id, from.Fence, began, unsure.notAfter)
	if from.Keep > 0 {
		h.KeepUntil(from.Keep)
	}
	e.table.add(h)
	if e.sender.Closed() {
		h.orphan()
		return nil, e.refuse(req.Proto)
	}
	l, ok := h.attach(ctx, req)
	if !ok {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, of: req.Proto, cause: opaque{h.overCause()}}
	}
	e.events.acquired(req.Proto.Name(), began)
	return l, nil
}

// adopted is one sending of an adoption and what came of it.
type adopted struct {
	request.Sent
	reply store.AdoptReply
	err   error
}

// askAdopt sends one request, and cleans up after an answer that comes when the caller has left.
func (e *Engine) askAdopt(
	ctx context.Context, req Request, from string, ask store.Ask, before doubt,
) adopted {
	p := req.Proto
	limit := e.sender.Limit(req.Lease)
	send := func(ctx context.Context) (sent adopted, err error) {
		take := func(ctx context.Context, notAfter int64) (now int64, err error) {
			ask := ask
			ask.NotAfter = notAfter
			sent.reply, err = p.Adopt(ctx, from, ask)
			return sent.reply.Now, err
		}
		sent.Sent, sent.err = e.sender.Send(ctx, crash.Adopt, p.Key(), limit, take)
		return sent, sent.err
	}
	sent, err := request.Call(e.sender, ctx, send, func(sent adopted, err error) {
		after := before
		if store.FaultOf(err) == store.FaultAmbiguous {
			after.add(sent.Start, sent.NotAfter)
		}
		if after.any || sent.reply.Status == store.Done || sent.reply.Status == store.Already {
			e.sender.Reclaim(request.Orphan{Proto: p, ID: ask.ID, NotAfter: after.notAfter}, req.Lease)
		}
	})
	sent.err = err
	return sent
}
