package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// pace is how a waiter asks again that no message wakes. The zero pace is that of one which a message woke, or which
// has not waited yet.
//
// A waiter that hears nothing finds the lock free only if it asks while it is free. Behind a holder that has it for
// long, one request in each poll interval is enough. Behind a process that takes it again and again it is not: the lock
// may be free for a fraction of a millisecond every 50 ms, and each poll finds it taken. That the lock was taken anew
// shows in the lease, which ends later than the last answer said. So such a waiter asks more often, and as rarely as
// before once the lease is no longer extended. A renewal extends it too; so one that is subscribed, whom a message is
// to wake, does that only if the lease was extended five times in a row.
type pace struct {
	pause time.Duration // 0: it has not waited yet
	ends  time.Duration // when the lock's lease ends, by the last answer
	at    time.Duration // when that came
	row   int           // how many answers in a row said that the lease was extended
}

const (
	// leastPoll is the shortest pause between two requests of a waiter that is not woken.
	leastPoll = 10 * time.Millisecond
	// deafPoll is the first pause of a waiter that is not subscribed. It may be about to be, and is woken then.
	deafPoll = 100 * time.Millisecond
	// recalledPoll is the first pause of such a waiter where the process of the holder was told that somebody waits: it
	// leaves the lock to others for a moment after its release.
	recalledPoll = localqueue.RunPause / 2
	// silentRow is how many answers in a row show a waiter that is subscribed that its messages do not come.
	silentRow = 5
)

// patience is how long a waiter that was refused relies on messages. The lock's lease ends in pttl.
//
// A waiter with a place in the store's queue is next when its turn comes, however rarely it asks; and what is told to
// waiters for portions says nothing of one lease. A store that sees how long holds last says how soon to ask.
func (w *waiter) patience(pttl time.Duration) time.Duration {
	e := w.engine()
	most := e.cfg.MaxPoll
	switch {
	case w.Registers() || w.Size > 0 || w.req.Loose:
		return most
	case w.pollIn > 0:
		return min(w.pollIn, most)
	}
	if w.pace == nil {
		w.pace = &pace{}
	}
	p, now := w.pace, e.clock.Now()
	need, first := 1, deafPoll
	switch {
	case e.store.Heard(w.req.Proto.Channel()) != (store.Heard{}):
		need, first = silentRow, most
	case w.recalled > 0:
		first = recalledPoll
	}
	if now+pttl-p.ends > (now-p.at)/2 {
		p.row++
	} else {
		p.row = 0
	}
	switch {
	case p.pause == 0:
		p.pause, p.row = first, 0
	case p.row >= need:
		p.pause = max(p.pause/4, min(leastPoll, p.pause))
	case p.row == 0:
		p.pause *= 2
	}
	p.pause = min(p.pause, most)
	p.ends, p.at = now+pttl, now
	return p.pause
}
