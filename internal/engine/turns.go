package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/watchdog"
)

// leavePlaces takes away the places that waiters of this process have in the store's queue although the grant was
// passed to them, when its release does not: the grant is gone, or another process has it. The request is the release
// of one of the places. It touches no hold, unless the store gave the lock to one of them meanwhile, and then the lock
// goes to the next.
//
// A waiter that was served keeps its place for the time of the run: to take each place away at once would be a request
// for each turn, which is what passing in memory saves. The release at the end of the run takes all of them away,
// before it looks whose turn is next.
func (e *Engine) leavePlaces(g *Grant) {
	if served := g.Served(); len(served) > 0 {
		e.sender.Disown(request.Disowned{Proto: g.proto.Serving(served), ID: served[0], Lease: g.Longest()})
	}
}

// longTurn is for how long a turn goes on before the places of those that had theirs are taken away during it: until
// then, a client that looks at the store's queue takes them for waiters. It is the last turn of its run by then.
const longTurn = 50 * time.Millisecond

// turns looks after the turns of one grant, from the first that passes by a place in the store's queue on. It is made
// and armed once for all of them, as most are over long before anything is due.
type turns struct {
	timer watchdog.Timer
	grant *Grant
}

// watchTurns lets the places be taken away of those that were served before a turn which lasts long.
func (g *Grant) watchTurns(next *hold.Hold) {
	t := &turns{grant: g}
	t.timer.Init(func(arg any) { arg.(*turns).look() }, t)
	g.engine().wheel.Schedule(&t.timer, next.Start()+longTurn)
}

// look is called by the wheel, which rounds down. The grant's turn may be another one by now, or one that has ended and
// is waiting for the next waiter's registration; then it looks again. When the grant is gone nothing is left to do.
func (t *turns) look() {
	g, e := t.grant, t.grant.engine()
	if g.Over() {
		return
	}
	now := e.clock.Now()
	if h := g.Current(); h == nil {
		e.wheel.Schedule(&t.timer, now+longTurn)
	} else if at := h.Start() + longTurn; at > now+hold.Tick {
		e.wheel.Schedule(&t.timer, at)
	} else { // if it ends now, its release takes the places away, and so may this
		// Refused when Close is at work, which ends the grant.
		e.sender.Spawn(func() { e.leavePlaces(g) })
	}
}
