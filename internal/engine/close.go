package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
)

// Close refuses new work, ends the contexts of what is held, releases it, and joins every goroutine.
// It takes the release timeout at most, and a little more for joining; a node that has not answered an unlock for that
// long has a quarter of it left. It returns the names that were still held.
//
// The order is what makes it safe. First no call is let in any more, and those that wait are told to leave. Then the
// contexts of all holds end, before anything is released. Then the ids are released, for as long as the timeout allows;
// calls that were still under way get the rest of it, and what they leave behind is released at last. Only when every
// goroutine that may use the wheel has been joined does the wheel stop, and then the ender, to which the wheel adds. A
// second Close waits for the first.
func (e *Engine) Close() []string {
	if !e.sender.Close() {
		<-e.done
		return nil
	}
	e.store.End()
	defer close(e.done)

	end := e.clock.Now() + e.cfg.ReleaseTimeout
	_ = crash.At(crash.Close)
	names, orphans := e.abandonAll()
	e.finish(orphans, end)
	return names
}

// finish releases what is left, and joins every goroutine of an engine that takes no calls any more.
func (e *Engine) finish(orphans []request.Disowned, end time.Duration) {
	e.sender.ReleaseAll(orphans, end)
	e.sender.WaitUntil(end)
	e.sender.ReleaseAll(nil, end) // what the calls that were joined left behind
	e.store.HangUp()              // also ends calls and renewals that are still under way
	e.watchdog.Close()
	e.sender.Wait()
	e.store.Wait()
	e.wheel.Close()
	e.ender.Finish()
	e.events.close(max(end-e.clock.Now(), 100*time.Millisecond))
}

// abandonAll ends every live hold here. A hold that is being released already is left to the call that releases it,
// which Close waits for. The orphans are released together, many by one script.
func (e *Engine) abandonAll() (names []string, orphans []request.Disowned) {
	for _, g := range e.table.all() {
		ended, ok := g.End(hold.Closed, e.refuse(g.proto))
		if !ok {
			continue
		}
		e.watchdog.Stop(&g.Lease)
		ended.Contexts()
		e.events.ended(ended.Owners, ended.Cause)
		g.key.drop(g)
		if ended.Losers > 0 { // nobody holds what is idle
			names = append(names, g.proto.Name())
		}
		orphans = append(orphans, g.disowned(0))
	}
	return names, orphans
}
