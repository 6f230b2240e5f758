package engine

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
)

// Call is a call that acquires something, as observers are told of it.
type Call struct {
	Name, Kind string
	Permits    int
	Try        bool

	HoldID string
	Fence  int64
}

// Observed is a call of which the observer was told that it began. It belongs to the goroutine of that call, which
// tells the end once. A nil Observed is a call of which nobody is told: everything costs a comparison then.
//
// The call's end is told after its hold's beginning, since End has the id and the token. So an observer that counts
// holds never sees a call succeed without one.
type Observed struct {
	events *events
	ctx    context.Context // what the observer made of the caller's
	call   Call
	since  time.Duration
}

// tenure is the hold of a call that the observer was told of. The goroutine that ends it reports that, or one of those
// who do so at the same time (see hold.Owner). It lives for as long as a level leads to it; nothing else refers to it,
// so an observer that is never told of an end would leave nothing behind either.
type tenure struct {
	hold.Owner
	events *events
	ctx    context.Context
	call   Call
	since  time.Duration
}

// observe begins a call for a request. A member of a set tells nothing, since the set is told of as a whole. It is nil,
// without an allocation, if the observer has neither Begin nor End, Held nor Ended.
func (e *Engine) observe(ctx context.Context, req Request, try bool) *Observed {
	if req.Member || !e.events.ofCalls {
		return nil
	}
	traits := req.Proto.Traits()
	return e.events.begin(ctx, Call{
		Name: req.Proto.Name(), Kind: traits.Kind, Permits: int(traits.Permits), Try: try,
	})
}

// Observe begins a call that its caller ends, who says what it is if somebody is told.
func (e *Engine) Observe(ctx context.Context, what func() Call) *Observed {
	if !e.events.ofCalls {
		return nil
	}
	return e.events.begin(ctx, what())
}

func (n *events) begin(ctx context.Context, call Call) *Observed {
	since := n.clock.Now()
	return &Observed{events: n, ctx: n.derived(n.to.Begin, ctx, call), call: call, since: since}
}

// End tells what the call returns. The hold's id and its token are a part of that only if there is no error: a hold
// that was lost while the observer was told that it is there is none that the caller gets.
func (t *Observed) End(err error) {
	if t == nil || t.events.to.End == nil {
		return
	}
	if err != nil {
		t.call.HoldID, t.call.Fence = "", 0
	}
	waited := t.events.clock.Now() - t.since
	t.events.guard(func() { t.events.to.End(t.ctx, t.call, waited, err) })
}

// Holds tells that the call has what it wanted, since an instant. It returns the context to go on with, made of the
// caller's, and who is told of the end.
//
// The context is the parent of the held one. It is made before the level is, since a level that is open can be lost,
// and its context must end all that the application made of it.
func (t *Observed) Holds(
	ctx context.Context, id string, fence int64, since time.Duration,
) (context.Context, *hold.Owner) {
	if t == nil {
		return ctx, nil
	}
	t.call.HoldID, t.call.Fence = id, fence
	if n := t.events; n.to.Held != nil || n.to.Ended != nil {
		own := &tenure{events: n, ctx: n.derived(n.to.Held, ctx, t.call), call: t.call, since: since}
		own.Owner.Of = own
		return own.ctx, &own.Owner
	}
	return ctx, nil
}

// HoldsNow is Holds for several holds that the call has from now on. They have ids and tokens of their own, so it names
// none.
func (t *Observed) HoldsNow(ctx context.Context) (context.Context, *hold.Owner) {
	if t == nil {
		return ctx, nil
	}
	return t.Holds(ctx, "", 0, t.events.clock.Now())
}

// derived is the context that a function of the observer makes of one. A function that panics, or returns nil, leaves
// it as it was.
func (n *events) derived(
	of func(context.Context, Call) context.Context, ctx context.Context, call Call,
) context.Context {
	made := ctx
	if of != nil {
		n.guard(func() {
			if next := of(ctx, call); next != nil {
				made = next
			}
		})
	}
	return made
}

// Ended tells, in the caller's goroutine, that a hold is over. It does nothing if somebody told of it before, so it may
// be called where that is not known. No mutex may be held.
func Ended(o *hold.Owner, err error) { last(o).ended(err) }

// ended tells that holds are over which end by themselves: the goroutine that finds that out waits for nobody. What
// they lasted is measured here, and not when the stream comes to them.
func (n *events) ended(owners []*hold.Owner, err error) {
	for _, o := range owners {
		if t := last(o); t != nil {
			held := t.held()
			t.events.losses.post(func() { t.end(held, err) }, true)
		}
	}
}

// last is the hold of an owner, for the one who reports its end; nil if another one does, or nobody is told. The caller
// that gets it must tell.
func last(o *hold.Owner) *tenure {
	if !o.ReportsEnd() {
		return nil
	}
	return o.Of.(*tenure)
}

func (t *tenure) held() time.Duration { return t.events.clock.Now() - t.since }

// ended reports the end, now.
func (t *tenure) ended(err error) {
	if t != nil {
		held := t.held()
		t.events.guard(func() { t.end(held, err) })
	}
}

func (t *tenure) end(held time.Duration, err error) {
	if t.events.to.Ended != nil {
		t.events.to.Ended(t.ctx, t.call, held, err)
	}
}
