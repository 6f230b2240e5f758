package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// latch is a count that callers wait for: it is open where there is none.
type latch struct{ counts }

// acquire looks, and takes nothing.
func (l latch) acquire(timedAsk) (store.AcquireReply, error) {
	at := l.numberLocked(l.key)
	switch {
	case at.n > 0 && at.ends.IsZero():
		return store.AcquireReply{Status: store.Busy, PTTL: unknownTime}, nil
	case at.n > 0:
		return store.AcquireReply{Status: store.Busy, PTTL: l.leftLocked(at.ends)}, nil
	}
	return store.AcquireReply{Status: store.Held}, nil
}

// release has nothing to undo.
func (latch) release(string) store.ReleaseReply { return store.ReleaseReply{Status: store.Gone} }

func (l latch) change(what store.Change, ask timedAsk) (store.ChangeReply, error) {
	at, now := l.numberLocked(l.key), l.microsLocked()
	_, done := at.done[ask.ID]
	_, idle := at.idle[ask.ID]
	switch {
	case what.Verb == store.Look:
		return store.ChangeReply{Value: at.n}, nil
	case done:
		return store.ChangeReply{Status: store.Already, Value: at.n}, nil
	case what.Verb == store.Set && (idle || at.n > 0):
		at.idled(ask, now)
		return store.ChangeReply{Status: store.Busy, Value: at.n}, nil
	case what.Verb != store.Set && (idle || at.n == 0): // a copy must not touch a later count
		at.idled(ask, now)
		return store.ChangeReply{Status: store.Done}, nil
	}
	switch what.Verb {
	case store.Set:
		at.n, at.ends = what.N, time.Time{}
		if what.Life > 0 {
			at.ends = l.afterLocked(what.Life)
		}
	case store.Down:
		at.n--
	case store.Delete:
		at.n = 0
	default:
		return l.place.change(what, ask)
	}
	at.did(ask, at.n, now)
	if what.Verb == store.Set || at.n == 0 {
		l.publishLocked(l.channel)
	}
	return store.ChangeReply{Status: store.Done, Value: at.n}, nil
}
