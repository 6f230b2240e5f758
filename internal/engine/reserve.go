package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Four moves tell bad luck from a pattern; most sets need one or two. Each queue is stood in for as long as a run
// of turns lasts at most, which is how long the callers in front of it may pass the lock on among themselves.
const (
	reserveAfter = 4                     // moves from queue to queue
	reserveFor   = 50 * time.Millisecond // in each queue
)

var errNeverFree = errors.New("the locks were never all free at the same time")

// reserve gives a waiter that stands for several requests, and that found one or the other of them held by
// this process time and again, the head of all queues at once: callers that pass single locks on among
// themselves would never leave all of them free. It goes through the queues in the order of the keys, so that
// two sets which do that cannot wait for one another, and gives up after a while, because the holder of one lock
// may be waiting behind it for another. Then, and if somebody elsewhere holds a lock, the error is
// errNeverFree.
//
// Why a set needs it: ten goroutines take a, and ten others b, each for a millisecond, one after the other. At any
// moment both are held. A set that wants both comes to the head of a's queue, asks, and is told that b is busy; it
// goes to b's queue, and there it is told that a is. Both queues are fair, and yet it may never find both free.
// With the head of both queues it is the next for either: the holders of this moment are the last that it has to
// wait for.
//
// Waiters of other processes are not held back by it. Between processes a set has the same chance with each release as
// anybody, and is not promised more.
func (e *Engine) reserve(limited, ctx context.Context, g *lockSet) error {
	var heads []*waiter
	defer func() {
		for _, w := range heads {
			w.leave()
		}
	}()
	for i := range g.reqs { // which are in that order
		g.at = i
		w := e.newMember(g)
		heads = append(heads, w)
		e.table.enter(w, false)
		if !e.awaitHead(limited, w) {
			g.busy = true
			return errNeverFree
		}
	}
	last := len(heads) - 1
	w := heads[last]
	heads = heads[:last]
	_, err := e.try(limited, ctx, w)
	var other elsewhere
	switch {
	case errors.As(err, &other):
		g.at, g.busy = other.at, true
		return errNeverFree
	case err == nil || limited.Err() != nil || e.sender.Closed():
		return err
	case errors.Is(err, e.cfg.Errors.Busy):
		g.busy = true
		return errNeverFree
	}
	// What passes is waited for as ever.
	if kind := store.FaultOf(err); !isShortfall(err) && (kind == store.FaultTransient || kind == store.FaultAmbiguous) {
		return errNeverFree
	}
	return err
}

// awaitHead waits for a while until w is at the head of its queue. While it waits there the others behind it wait too,
// and so do those in the queues in front of which it stands already: the time is short, and callers that pass the lock
// among themselves are through several turns in it.
func (e *Engine) awaitHead(ctx context.Context, w *waiter) bool {
	timer := time.NewTimer(reserveFor)
	defer timer.Stop()
	for {
		if at, _ := w.look(); at == localqueue.Asking {
			return true
		}
		select {
		case <-w.Changed():
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		case <-e.sender.Closing():
			return false
		}
	}
}
