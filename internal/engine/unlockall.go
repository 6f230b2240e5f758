package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// UnlockAll unlocks levels of one engine: all contexts end before anything is sent, and the grants that
// end with them and that nobody here waits for are released by one script. The error is the gravest that
// one of them met (graver).
//
// The levels are unlocked from the last to the first, because each one's context was made inside the one before: in the
// other order the first would end all others with its own cause. A grant that was lost in the meantime is left out, and
// the others are released all the same. All of it is bounded by one release timeout and not by one for each lock.
func UnlockAll(levels []*hold.Level) error {
	if len(levels) == 0 {
		return nil
	}
	e := EngineOf(levels[0])
	open, at := e.sender.Begin(), e.clock.Now()
	if open {
		defer e.sender.Done()
	}
	var err error
	done := make([]*hold.Level, 0, len(levels))
	for _, l := range slices.Backward(levels) {
		_, last, own := grantOf(l.Hold()).part(l, open)
		err = e.graver(err, own)
		if last {
			done = append(done, l)
		}
	}
	return e.graver(err, e.passAll(done, at))
}

// graver is the error of two unlocks that is to be told if only one can be: any says more than that a release is
// unconfirmed, and otherwise the first one does.
func (e *Engine) graver(first, second error) error {
	if second != nil && errors.Is(first, e.cfg.Errors.Unconfirmed) {
		return second
	}
	return cmp.Or(first, second)
}

// passAll lets grants go of which no context says any more that they are held, with the last level of each. Their
// unlock began at an instant.
//
// What a caller of this process waits for goes to that one in memory; what nobody waits for goes together. A waiter
// that comes after it was looked for is told nothing wrong: it finds the grant on the table until its release was
// answered, and then asks.
func (e *Engine) passAll(levels []*hold.Level, at time.Duration) (err error) {
	_ = crash.At(crash.Unlock)
	idle := make([]*hold.Level, 0, len(levels))
	for _, l := range levels {
		g := grantOf(l.Hold())
		if g.proto.Traits().InSets && g.Stays() == 0 && !g.key.hasHeir(g) {
			if g.retire() {
				idle = append(idle, l)
			} else {
				Ended(l.Owner(), nil) // it was held to its end, and lost since
			}
			continue
		}
		one := e.passOn(g, l.Hold(), at, releaseEnd(e, at))
		Ended(l.Owner(), one)
		err = e.graver(err, one)
	}
	return e.graver(err, e.releaseTogether(idle, at+e.cfg.ReleaseTimeout))
}

// noteReleased cleans up after a grant that was released, and tells the observer.
func (g *Grant) noteReleased(l *hold.Level, err error) error {
	g.sweep()
	Ended(l.Owner(), err)
	return err
}

// releaseTogether releases by one script. What that did not settle is released one by one.
//
// Certain says what "not there" means in the second round. If the script was refused as a whole, nothing of it was
// done, and a grant that is not there was lost. If its answer was lost, it may have been released by the script, and
// "not there" is what is to be expected.
func (e *Engine) releaseTogether(levels []*hold.Level, end time.Duration) (err error) {
	certain := true
	if len(levels) > 1 && together(e, levels, func(l *hold.Level) store.Protocol { return grantOf(l.Hold()).proto }) {
		ends := make([]runEnd, len(levels))
		for i, l := range levels {
			ends[i] = e.endRun(grantOf(l.Hold()))
		}
		all, failed := e.sendReleaseAll(e.by(end), levels, min(e.sender.Limit(e.cfg.Lease), end-e.clock.Now()))
		if failed == nil {
			for i, l := range levels {
				g := grantOf(l.Hold())
				err = e.graver(err, g.noteReleased(l, e.dropped(g, l.Hold().Start(), all[i].Reply, ends[i], end)))
			}
			return err
		}
		// Where the slot is being moved, some may have been released on their own.
		certain = errors.Is(failed, store.ErrApart) && store.FaultOf(failed) == store.FaultDefinite
	}
	for _, l := range levels {
		g := grantOf(l.Hold())
		err = e.graver(err, g.noteReleased(l, e.sendRelease(g, l.Hold().Start(), end, true, certain)))
	}
	return err
}

// dropped takes a grant off the table by what its release was answered. "Apart" is the answer for a member whose
// slot has moved away: the script did not touch it, and it is released by itself, so that "not there" still means a
// loss.
func (e *Engine) dropped(
	g *Grant, last time.Duration, reply store.ReleaseReply, ends runEnd, end time.Duration,
) error {
	switch reply.Status {
	case store.Apart:
		return e.sendRelease(g, last, end, true, true)
	case store.Done:
		g.key.released(g, last, ends.reached(e, g, reply.Receivers))
		return nil
	}
	g.key.drop(g)
	lost := e.lostError(g.proto, hold.Gone, nil)
	e.events.lost(lost)
	return lost
}

// sendReleaseAll sends the script. What was released is remembered for a while (Ended), in case a replaced primary has
// forgotten it.
func (e *Engine) sendReleaseAll(
	ctx context.Context, levels []*hold.Level, limit time.Duration,
) (all []*store.Parting, err error) {
	all = make([]*store.Parting, len(levels))
	for i, l := range levels {
		g := grantOf(l.Hold())
		all[i] = &store.Parting{Proto: g.proto, ID: g.id}
	}
	era := e.sender.Era()
	err = request.Exchange(crash.ReleaseAll, func() error {
		return e.store.ReleaseAll(e.sender.Within(ctx, limit), all)
	})
	for _, one := range all {
		if err == nil {
			e.sender.Ended(era, one.Proto, one.ID)
		}
	}
	return all, err
}

// Tie has what is tied to the levels run, and its owner told, should any of them be lost or their client be closed.
// Nobody may have been given the levels yet.
func Tie(levels []*hold.Level, with *hold.Tied) {
	for _, l := range levels {
		if lost := l.Tie(with); lost != nil {
			Ended(with.Owner, lost)
		}
	}
}

// EngineOf is the engine of a level.
func EngineOf(l *hold.Level) *Engine { return grantOf(l.Hold()).engine() }

// Detach runs fn beside its caller, which may be the wheel's goroutine: fn may wait. While this engine closes, it
// is not joined here: what fn releases may be another client's. The unlock of what was tied waits for it.
func (e *Engine) Detach(fn func()) {
	if !e.sender.Spawn(fn) {
		go fn()
	}
}
