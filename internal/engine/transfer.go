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

// Passage is a hold on its way to another process: in the store, and in nobody's hands. Its JSON is a token of Export.
type Passage struct {
	Key    []byte `json:"k"` // no string: it need not be UTF-8
	Client string `json:"c"` // the exporter's
	Secret string `json:"s"` // which nobody knows but those who have the passage
	Fence  int64  `json:"f"`
	Retain int64  `json:"m,omitempty"` // until when the importer's release retains the lock (store.Instant); 0: not

	Most time.Duration `json:"n,omitempty"` // for how long it does so at most
}

// id is the id of the hold on its way, which is a digest of the passage. A process that has the passage can name the
// hold. Nobody can make the passage of the id, which the store and Inspect show to everybody; nor of any other hold's
// id, as none is a digest. And a passage with another token or end than the exporter's names a hold that does not
// exist: the store need not remember them to check them, since it looks for the id.
func (p Passage) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", p.Fence, p.Retain, p.Most, p.Secret))
	return p.Client + ":" + hex.EncodeToString(sum[:16])
}

// Export takes the hold that ctx carries out of this process. Its context ends first. Then the passage's id takes the
// hold from the hold's own, with a full lease, and is renewed by nobody, until Import takes it from the passage's. If
// the passage is lost, the lock is free when that lease is over.
func (e *Engine) Export(ctx context.Context, p store.Protocol) (_ Passage, err error) {
	if !e.sender.Begin() {
		return Passage{}, e.refuse(p)
	}
	defer e.sender.Done()
	if err := p.Traits().Stays; err != nil {
		return Passage{}, err
	}
	l, g, err := e.holding(ctx, p)
	if err != nil {
		return Passage{}, err
	}
	contexts, alone, ok := l.Hold().Export(l)
	if !ok {
		return Passage{}, cmp.Or(g.standing(l), ErrNested)
	}
	owned := last(l.Owner()) // so that an unlock tells nothing
	defer func() { owned.ended(cmp.Or(err, e.cfg.Errors.Exported)) }()
	contexts.Contexts()
	if alone {
		return e.exportAlone(g, l.Hold().Fence)
	}
	return e.exportBeside(g, l)
}

// exportAlone exports a grant that nobody else has. A hold that the store has not is a loss, which this process had not
// noticed yet. If no answer comes, nobody can say by which of the two ids the hold stands, and the caller gets no
// passage. So both are disowned, that of the passage by adopt; in whatever order the releases and the last copy of the
// request come, nothing is left.
func (e *Engine) exportAlone(g *Grant, fence int64) (Passage, error) {
	defer g.key.drop(g)
	e.watchdog.Stop(&g.Lease)
	passage, err := e.depart(g, fence, false)
	switch {
	case err == nil:
		e.leavePlaces(g)
	case e.isNotThere(err):
		err = e.lostError(g.proto, hold.Gone, nil)
		e.leavePlaces(g)
		e.events.lost(err)
	default:
		e.sender.Disown(g.disowned(0))
	}
	return passage, err
}

// exportBeside exports a reader's part of a grant that other readers of this process have, too. They rely on the grant
// and its id, so the passage's id gets a hold beside it, in the step in which the store looks whether the old one
// stands: no writer can have been in between. To refuse would be plainer, but whether others joined is nothing that the
// caller knows or can change.
//
// The level is one under way until then: it has no context and is not re-entered, but the grant is not released without
// it. What becomes of the grant afterwards is no matter of the passage.
func (e *Engine) exportBeside(g *Grant, l *hold.Level) (Passage, error) {
	passage, err := e.depart(g, l.Hold().Fence, true)
	if err != nil && e.isNotThere(err) {
		g.lose(hold.Gone, nil)
	}
	if left := Unlock(l); err != nil {
		err = cmp.Or(left, err)
	}
	return passage, err
}

// isNotThere reports that the store has no such hold.
func (e *Engine) isNotThere(err error) bool {
	return errors.Is(err, e.cfg.Errors.NotHeld) || errors.Is(err, e.cfg.Errors.KeyConflict)
}

// depart has a passage's id take the hold of a grant, or stand beside it. From the moment at which Export returns,
// anybody may import, so before that no copy may be under way that could take the lock when the importer is done with
// it: neither of the acquisition, nor of this request if the grant stays. Nothing is waited for in the usual case, in
// which both were answered the first time, and otherwise as long as a command may take, at most. The caller's context
// does not shorten that: the hold is in nobody's hands, and to return early would be to lose it.
//
// Where the server's clock was set back, a copy may come for longer: until the clock has made up for that. What it
// takes then ends with its lease.
func (e *Engine) depart(g *Grant, fence int64, beside bool) (Passage, error) {
	retain := g.Retained()
	p := Passage{
		Key: []byte(g.proto.Key()), Client: e.cfg.ClientID, Secret: rand.Text(), Fence: fence,
		Retain: retain.Until, Most: retain.Most,
	}
	req := &Request{Proto: g.parting()}
	req.Lease = max(e.cfg.Lease, g.Lease.ValidUntil()-e.clock.Now())
	late, err := e.adopt(background, crash.Export, req, store.Ask{ID: p.id(), From: g.id, Beside: beside})
	if err != nil {
		return Passage{}, err
	}
	if wait := e.store.Late(g.proto.Key(), max(late, g.doubt)); wait > 0 {
		e.sender.Pause(background, min(wait, e.sender.Limit(req.Lease)))
	}
	return p, nil
}

// Import makes the hold of a passage this caller's, under a new id. Of two processes that import one passage, the
// second finds the passage's id gone and is told that it is not held, as is a caller whose passage no Export has made.
// Validity counts from before the first sending, and the token is the exporter's: it is one possession of the lock, in
// two processes one after the other.
func (e *Engine) Import(ctx context.Context, req *Request, from Passage) (l *hold.Level, err error) {
	p := req.Proto
	if !e.sender.Begin() {
		return nil, e.refuse(p)
	}
	defer e.sender.Done()
	if err := p.Traits().Stays; err != nil {
		return nil, err
	}
	if req.Reentry == Refused {
		if _, _, err := e.known(ctx, req); err != nil {
			return nil, err
		}
	}
	observed := e.observe(ctx, req, true)
	defer func() { observed.End(err) }()
	if ctx.Err() != nil {
		return nil, over(ctx, req.Proto)
	}
	req = e.keeps(req)
	id, began := e.idFor(req), e.clock.Now()
	late, err := e.adopt(ctx, crash.Adopt, req, store.Ask{ID: id, From: from.id()})
	if err != nil {
		return nil, err
	}
	g, h := e.add(req, id, from.Fence, began, late, hold.Retention{Until: from.Retain, Most: from.Most})
	if e.sender.Closed() {
		g.disown()
		return nil, e.refuse(p)
	}
	l, ok := attach(ctx, h, call{req, observed})
	if !ok {
		return nil, &callError{kind: e.cfg.Errors.NotHeld, of: p, cause: opaque{overCause(h)}}
	}
	return l, nil
}

// adopt acquires from the hold that the ask names. There is nothing to wait for in a queue, but the request is that of
// any acquisition, and so are its steps: all sendings have one id, "already" is this call's own work, and an id of
// which nothing is known in the end is disowned. For an import that takes the hold from both sides, which is safe: the
// passage is used up then, and the caller is told that the store did not answer. If the hold is not there, the error
// matches NotHeld. Late is until when a copy of a request without an answer may come.
func (e *Engine) adopt(
	ctx context.Context, x crash.Exchange, req *Request, ask store.Ask,
) (late store.Late, err error) {
	ask.Lease, ask.Once = req.Lease, true
	w := &waiter{req: req} // in no queue
	var sent *asked
	e.sender.Retry(ctx, e.clock.Now()+e.cfg.ReleaseTimeout, func() request.Next {
		sent = e.askUntil(ctx, x, w, &asked{ask: ask})
		switch kind := store.FaultOf(sent.err); {
		case kind == store.FaultAmbiguous && !errors.Is(sent.err, request.ErrAbandoned):
			w.attempts.Lost(sent.Receipt)
			return request.Later
		case kind == store.FaultTransient:
			return request.Later
		}
		return request.Settled
	})
	switch {
	case errors.Is(sent.err, request.ErrAbandoned): // the goroutine that gets the late reply cleans up after all of it
		return 0, e.gaveUp(ctx, ctx, word{of: req.Proto})
	case sent.err != nil:
		if w.attempts.InDoubt() {
			e.disown(req, ask.ID, w.attempts.Late(), 0)
		}
		return 0, e.unserved(ctx, req.Proto, sent.err)
	case sent.reply.Status == store.Gone:
		return 0, e.notHeld(req.Proto)
	}
	return w.attempts.Late(), nil
}
