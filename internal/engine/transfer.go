package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrNested refuses to export a hold that other levels still count on.
var ErrNested = errors.New("unlock the nested levels first")

// Passage is a hold on its way to another process: in Redis, and in nobody's hands.
type Passage struct {
	Client string // the exporter's
	Secret string // which nobody knows but those who have the passage
	Fence  int64
	Keep   int64 // server time in µs until which the importer has the lock kept; 0: it has not
}

// newPassage is the passage by which a hold leaves.
func (e *Engine) newPassage(g *Grant, h *hold.Hold) Passage {
	return Passage{Client: e.cfg.ClientID, Secret: rand.Text(), Fence: h.Fence, Keep: g.KeptUntil()}
}

// id is the id of the hold on its way, which is a digest of the passage. A process that has the passage can name
// the hold. Nobody can make the passage of the id, which Redis and Inspect show to everybody; nor of any other
// hold's id, as none is a digest. And a passage with another token or end than the exporter's names a hold that
// does not exist: Redis need not remember them to check them, since it looks for the id.
func (p Passage) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", p.Fence, p.Keep, p.Secret))
	return p.Client + ":" + hex.EncodeToString(sum[:16])
}

// Export takes the hold that ctx carries out of this process. Its context ends first; then it gets the id of the
// passage, which tells whether it is still there. An export that is not confirmed is disowned, by both ids, so that
// the hold is never in two processes.
//
// From the moment at which Export returns, anybody who has the passage may import it. So before that, nothing of this
// process may be under way that could touch the hold, or take the lock when the importer is done with it: renewals have
// stopped, and copies of the acquisition can come no more (outlast). A late step of levels names the old id.
//
// A passage goes from one process to another like this:
//
//	exporter: the context ends; renewals stop; no copy of the acquisition can come any more
//	exporter: Redis replaces the hold's id by that of the passage, with a full lease; Export returns the passage
//	          the passage travels, by whatever means; the lock is held by its id, and in nobody's hands
//	importer: Redis replaces the passage's id by a new one, with a new lease; Import returns a context
//
// Both steps in Redis are the same request, an adoption. If its answer is lost, it is asked again by the same new
// id, which is answered "already". A copy of it that comes late finds the id that it replaces gone, and so does a
// request of the exporter for the hold, a renewal say. If the exporter dies after the second step, or the passage
// is lost, the lock is free when the lease is over.
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
	g := grantOf(l.Hold())
	if err := g.standing(l); err != nil {
		return Passage{}, err
	}
	alone, ok := l.Hold().Export(l)
	switch {
	case !ok:
		return Passage{}, ErrNested
	case !alone:
		return e.exportBeside(l)
	}
	passage, err := e.exportAlone(g, l)
	Ended(l.Owner(), cmp.Or(err, e.cfg.Errors.Exported))
	return passage, err
}

// exportAlone exports a hold that nobody else has.
func (e *Engine) exportAlone(g *Grant, l *hold.Level) (Passage, error) {
	p := g.proto
	valid := e.watchdog.Stop(&g.Lease) && g.Valid()
	l.End(e.cfg.Errors.Released)
	defer g.key.drop(g)
	if !valid {
		e.sender.Disown(g.disowned(0))
		err := e.lostError(p, hold.Expired, nil)
		e.events.lost(err)
		return Passage{}, err
	}
	e.outlast(p, g.doubt)
	passage := e.newPassage(g, l.Hold())
	if err := e.depart(g, passage); err != nil {
		return Passage{}, err
	}
	e.leavePlaces(g)
	return passage, nil
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

// depart has Redis give an exported hold the id of its passage, and a lease, which is the time that the importer has. A
// hold that is gone stays gone: that is a loss, which this process had not noticed yet. If no answer comes within the
// release timeout, nobody can say by which of the two ids the hold stands, and the caller gets no passage. So both are
// disowned, that of the passage by adopt; in whatever order the releases and the last copy of the request come,
// nothing is left.
func (e *Engine) depart(g *Grant, passage Passage) error {
	req := Request{Proto: g.parting(), Lease: max(e.cfg.Lease, g.Lease.ValidUntil()-e.clock.Now())}
	_, err := e.adopt(background, crash.Export, req, g.id, store.Ask{ID: passage.id(), Lease: req.Lease})
	switch {
	case errors.Is(err, e.cfg.Errors.NotHeld), errors.Is(err, e.cfg.Errors.KeyConflict):
		err = e.lostError(g.proto, hold.Gone, nil)
		e.leavePlaces(g)
		e.events.lost(err)
	case err != nil:
		lost := g.disowned(0)
		lost.Lease = max(lost.Lease, req.Lease)
		e.sender.Disown(lost)
	}
	return err
}

// Import makes the hold of a passage this caller's, under a new id: the same passage cannot be taken twice. If two
// processes import one passage at once, Redis replaces its id once; the second finds it gone and is told that it is not
// held, and so is a caller whose passage no Export has made.
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
	unsure, err := e.adopt(ctx, crash.Adopt, req, from.id(), store.Ask{ID: id, Lease: req.Lease})
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
// disowned. For an import that takes the hold from both sides, which is safe; the passage is used up then, and the
// caller is told that Redis did not answer.
func (e *Engine) adopt(
	ctx context.Context, x crash.Exchange, req Request, from string, ask store.Ask,
) (unsure request.Attempts, err error) {
	p := req.Proto
	var sent adopted
	if !e.sender.Retry(ctx, e.clock.Now()+e.cfg.ReleaseTimeout, func() request.Next {
		sent = e.askAdopt(ctx, x, req, from, ask, unsure)
		switch kind := store.FaultOf(sent.err); {
		case kind == store.FaultNone, errors.Is(sent.err, request.ErrAbandoned):
			return request.Settled
		case kind == store.FaultDefinite, kind == store.FaultConflict:
			return request.GiveUp
		case kind == store.FaultAmbiguous:
			unsure.Lost(sent.Sent)
		}
		return request.Later
	}) {
		if unsure.InDoubt() {
			e.disown(req, ask.ID, unsure.Late(), 0)
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

// ended makes the error of a call that does not wait: Redis's, and the context's if that is over.
//
// A call that does not wait for the lock has one reason to fail besides a refusal: nobody answered. If the caller's
// context ended meanwhile, that is the reason to name first, since the caller knows of it.
func (e *Engine) ended(ctx context.Context, p store.Protocol, err error) error {
	if store.FaultOf(err) != store.FaultConflict && (ctx.Err() != nil || e.sender.Closed()) {
		return e.gaveUp(ctx, ctx, p, nil, err)
	}
	return e.unavailable(p, err)
}

// imported makes the local side of a hold that was adopted. Its validity counts from the first sending of the
// request, and its token is the exporter's: it is one possession of the lock, in two processes one after the other.
func (e *Engine) imported(
	ctx context.Context, req Request, id string, from Passage, began time.Duration, unsure request.Attempts,
) (*hold.Level, error) {
	g, h := e.add(req, id, from.Fence, began, unsure.Late(), from.Keep)
	if e.sender.Closed() {
		g.disown()
		return nil, e.refuse(req.Proto)
	}
	l, ok := attach(ctx, h, req)
	if !ok {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, of: req.Proto, cause: opaque{overCause(h)}}
	}
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
	ctx context.Context, x crash.Exchange, req Request, from string, ask store.Ask, before request.Attempts,
) adopted {
	p := req.Proto
	limit := e.sender.Limit(req.Lease)
	send := func(ctx context.Context) (sent adopted, err error) {
		take := func(ctx context.Context, notAfter int64) (_ request.Answer, err error) {
			ask := ask
			ask.NotAfter = notAfter
			sent.reply, err = p.Adopt(ctx, from, ask)
			return request.Answer{Late: sent.reply.Status == store.Late, Now: sent.reply.Now}, err
		}
		sent.Sent, sent.err = e.sender.Send(ctx, x, p, limit, take)
		return sent, sent.err
	}
	sent, err := request.Call(e.sender, ctx, send, func(sent adopted, err error) {
		after := before.After(sent.Sent, err)
		if after.InDoubt() || sent.reply.Status == store.Done || sent.reply.Status == store.Already {
			e.disown(req, ask.ID, after.Late(), 0)
		}
	})
	sent.err = err
	return sent
}
