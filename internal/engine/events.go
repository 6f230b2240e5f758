package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

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

func (n *events) renewed(name string, err error) {
	if n.to.Renewed != nil {
		n.renewals.post(func() { n.to.Renewed(name, err) }, false)
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
// program.
func (n *events) line(level slog.Level, text string, args ...any) {
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
