package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// listenAfter is how long a client has had holds when it begins to listen.
const listenAfter = time.Second

// youngest is the age from which a grant is asked for after a gap: nobody has seen and broken it sooner.
const youngest = 100 * time.Millisecond

// listener is when a client begins to listen to those who break its holds.
//
// A client that breaks a hold of another one tells that client, where the store has messages (store.Teller). The
// message is a hint: it may be lost, and anybody may send it. So a client that hears it asks the store at once whether
// the grant stands, and the answer decides; without the message the next renewal would have asked, a third of a lease
// after the one before.
//
// To listen costs a client a connection, which many would have in vain: most holds last for milliseconds. So a client
// listens from when it has held something for a while (listenAfter), and for all of its holds at once. What it may have
// missed until the subscription stands is asked for then, and again after each gap.
type listener struct {
	timer watchdog.Timer
	armed atomic.Bool // the timer is, or the client listens
}

// listenSoon has the client listen if it still has holds in a while.
func (e *Engine) listenSoon() {
	if e.listener.armed.Load() {
		return
	}
	if _, tells := e.store.(store.Teller); tells && e.listener.armed.CompareAndSwap(false, true) {
		e.wheel.Schedule(&e.listener.timer, e.clock.Now()+listenAfter)
	}
}

// listen is called by the wheel. A grant that comes when it has found none is told that the timer is not armed, or is
// found by the second look.
func (e *Engine) listen() {
	if e.watchdog.Len() > 0 {
		e.sender.Spawn(e.store.ListenWanted) // refused when Close is at work
		return
	}
	e.listener.armed.Store(false)
	if e.watchdog.Len() > 0 {
		e.listenSoon()
	}
}

// broken is told by the store that another client says that it has broken what has an id.
func (e *Engine) broken(key, id string) {
	for layout := range store.Layouts {
		if g := e.table.findAt(key, layout, id); g != nil {
			g.key.mu.Lock()
			g.suspect = true
			g.key.mu.Unlock()
			e.doubt(g)
		}
	}
}

// missed is told by the store that messages to this client may have been missed until now.
func (e *Engine) missed() {
	e.keeper.deaf.Store(nil)
	now := e.clock.Now()
	for _, g := range e.table.all() {
		if now-g.since >= youngest {
			e.doubt(g)
		}
	}
}

// gone is called by a store that has seen that the grant with an id is gone. The contexts have ended when it returns.
func (e *Engine) gone(key, id string, why error) {
	for layout := range store.Layouts {
		if g := e.table.findAt(key, layout, id); g != nil {
			g.lose(hold.Gone, why)
		}
	}
}

// doubt has the store asked at once whether a grant stands. A grant that is renewed is renewed now; of one with a fixed
// lease nobody else would ask.
func (e *Engine) doubt(g *Grant) {
	if g.IsRenewed() {
		e.watchdog.Hurry(&g.Lease)
		return
	}
	if g.doubted() == 1 {
		e.sender.Spawn(func() { e.verify(g) }) // refused when Close is at work, which ends the grant
	}
}

// doubted counts a hint, and returns how many there are.
func (g *Grant) doubted() int32 {
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	g.doubts++
	return g.doubts
}

// asks notes that the store is about to be asked: the answer is one to all hints so far.
func (g *Grant) asks() {
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	g.doubts = 1
}

// verified takes in the answer. It reports false if a hint came after the question: then the grant may have been broken
// after the answer.
func (g *Grant) verified() bool {
	g.key.mu.Lock()
	defer g.key.mu.Unlock()
	if g.doubts > 1 {
		return false
	}
	g.doubts = 0
	return true
}

// verify asks the store whether a grant with a fixed lease stands, for as long as it is valid. It is a renewal for the
// rest of the validity: that shortens no lease below what is relied on here, and lengthens none.
func (e *Engine) verify(g *Grant) {
	limit := e.sender.Limit(e.cfg.Lease)
	e.sender.Retry(background, g.Lease.ValidUntil(), func() request.Next {
		g.asks()
		all := []store.Renewal{{
			Proto: g.proto, ID: g.id, TTL: max(g.Lease.ValidUntil()-e.clock.Now(), 0) + time.Millisecond,
		}}
		ctx, cancel := context.WithTimeout(background, limit)
		defer cancel()
		e.store.Renew(e.sender.Within(ctx, limit), all)
		switch {
		case g.Over(), all[0].Err == nil:
		case isGone(all[0].Err):
			g.lose(hold.Gone, behindGone(all[0].Err))
		default:
			return request.Later
		}
		if !g.verified() && !g.Over() {
			return request.Later
		}
		return request.Settled
	})
}

// tellBroken tells the client of a hold that it was broken. Nobody but Close waits for that, as it is not known whether
// the message arrives.
func (e *Engine) tellBroken(p store.Protocol, id string) {
	teller, tells := e.store.(store.Teller)
	if !tells || store.ClientOf(id) == e.cfg.ClientID {
		return
	}
	e.sender.Spawn(func() {
		teller.TellBroken(e.sender.Within(background, e.sender.Limit(e.cfg.Lease)), p.Key(), id)
	})
}
