package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/legible"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Events are told what happens. Nil functions are skipped.
type Events struct {
	Renewed func(of store.Rules, err error)
	Lost    func(err error) // what Errors.Lost made
	Command func(command store.Command)

	Begin func(ctx context.Context, call Call) context.Context
	End   func(ctx context.Context, call Call, waited time.Duration, err error)
	Held  func(ctx context.Context, call Call) context.Context
	Ended func(ctx context.Context, call Call, held time.Duration, err error)
}

// logGrace is how long Close waits for the log at least.
const logGrace = 100 * time.Millisecond

// events tells the observer and the log. What happens in a caller's own goroutine is told there. What the
// watchdog finds out is told by goroutines of its own, one for each kind of event, so that an observer or a
// log that blocks, panics or locks again can keep neither renewals nor losses waiting, nor the other kinds.
//
// A loss is never dropped, whatever the observer does: one error waits for each hold that was lost, and
// holds are what the application makes. Renewals and commands come all the time, and too many of them are
// dropped and counted; so are lines of the log that report no loss.
type events struct {
	to    Events
	log   *slog.Logger
	clock *watchdog.Clock

	ofCalls bool // somebody is told of calls and their holds; constant

	losses, renewals, commands, lines stream
}

// newEvents makes the streams. What becomes of events that are too many differs: losses are never dropped, so
// nothing is to be said; that renewals or commands were dropped is logged; that lines of the log were dropped is itself
// logged, when there is room.
func newEvents(to Events, log *slog.Logger, clock *watchdog.Clock) *events {
	n := &events{to: to, log: log, clock: clock}
	n.ofCalls = to.Begin != nil || to.End != nil || to.Held != nil || to.Ended != nil
	n.losses.guard, n.renewals.guard, n.commands.guard, n.lines.guard = n.guard, n.guard, n.guard, quietly
	n.losses.report = func(int64) {}
	n.renewals.report = func(dropped int64) {
		n.warn("Observer.Renewed is too slow: renewals were not reported", "renewals", dropped)
	}
	n.commands.report = func(dropped int64) {
		n.warn("Observer.Command is too slow: commands were not reported", "commands", dropped)
	}
	n.lines.report = func(dropped int64) {
		n.line(slog.LevelWarn, "Logger is too slow: log lines were dropped", "lines", dropped)
	}
	return n
}

func (n *events) renewed(of store.Rules, err error) {
	if n.to.Renewed != nil {
		n.renewals.post(func() { n.to.Renewed(of, err) }, false)
	}
}

// onCommand is what a store calls for each script that it sent: nil if nobody is told. It is called where answers are
// read, which many callers wait for, so the observer runs in a goroutine of its own.
func (n *events) onCommand() func(store.Command) {
	if n.to.Command == nil {
		return nil
	}
	return func(c store.Command) { n.commands.post(func() { n.to.Command(c) }, false) }
}

// holdLost reports that a reader was lost whose hold was not.
func (n *events) holdLost(owners []*hold.Owner, err error) {
	n.lost(err)
	n.ended(owners, err)
}

// lost reports a loss. It is called by the wheel and by callers, and neither waits.
func (n *events) lost(err error) {
	n.lines.post(func() { n.line(slog.LevelWarn, "lock lost", "error", err) }, true)
	if n.to.Lost != nil {
		n.losses.post(func() { n.to.Lost(err) }, true)
	}
}

// warn logs without waiting for it.
func (n *events) warn(text string, args ...any) {
	n.lines.post(func() { n.line(slog.LevelWarn, text, args...) }, false)
}

// info does the same for what is no trouble: the end of one.
func (n *events) info(text string, args ...any) {
	n.lines.post(func() { n.line(slog.LevelInfo, text, args...) }, false)
}

// line writes a line of the log. It begins with the name of the library, because the log is usually that of a whole
// program. The values can be names, which are any bytes.
func (n *events) line(level slog.Level, text string, args ...any) {
	args = slices.Clone(args)
	for i, arg := range args {
		if value, is := arg.(string); is {
			args[i] = legible.Name(value)
		}
	}
	n.log.Log(background, level, "holdfast: "+text, args...)
}

// guard keeps a panic of the observer from ending a Lock that has succeeded, whose hold nobody would
// ever unlock then, or a goroutine that others depend on.
func (n *events) guard(tell func()) {
	defer func() {
		if r := recover(); r != nil {
			n.lines.post(func() {
				n.line(slog.LevelError, "a function of the Observer panicked; locks are not affected", "panic", r)
			}, false)
		}
	}()
	tell()
}

// quietly is guard for the log, of which nobody is left to be told.
func quietly(tell func()) {
	defer func() { _ = recover() }()
	tell()
}

// close waits until everything was told, for at most limit, and for the log a moment longer. Losses, renewals and
// commands have one limit together, since an observer that blocks in one usually blocks in the others. A goroutine that
// is inside a call of the application cannot be stopped; it is left behind, and the log says so.
func (n *events) close(limit time.Duration) {
	ctx, cancel := context.WithTimeout(background, limit)
	defer cancel()
	lost, renewed, answered := n.losses.close(ctx), n.renewals.close(ctx), n.commands.close(ctx)
	if !lost || !renewed || !answered {
		n.warn("Close no longer waits for a function of the Observer, which is still running")
	}
	last, cancelLast := context.WithTimeout(background, logGrace)
	defer cancelLast()
	n.lines.close(last)
}

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
func (e *Engine) observe(ctx context.Context, req *Request, try bool) *Observed {
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
