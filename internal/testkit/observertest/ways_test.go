package observertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

type outcomes = []lock.Outcome

// ways are those in which calls and holds of every kind end, and how many of them are told.
var ways = map[string]struct {
	act          func(s *scene)
	calls, holds outcomes
}{
	"released": {func(s *scene) {
		_, unlock := s.taken(s.mine.lock())
		require.NoError(s, unlock())
		require.Error(s, unlock())
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeReleased}},
	"tried": {func(s *scene) {
		_, unlock, err := s.mine.lock().TryLock(s.ctx())
		require.NoError(s, err)
		require.NoError(s, unlock())
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeReleased}},
	"busy": {func(s *scene) {
		_, unlock := s.taken(s.rival.lock())
		_, _, err := s.mine.lock().TryLock(s.ctx())
		require.ErrorIs(s, err, rlock.ErrBusy)
		require.NoError(s, unlock())
	}, outcomes{lock.OutcomeBusy}, nil},
	"the longest wait": {func(s *scene) {
		_, unlock := s.taken(s.rival.lock())
		_, _, err := s.mine.lock(rlock.MaxWait(500 * time.Millisecond)).Lock(s.ctx())
		require.ErrorIs(s, err, rlock.ErrBusy)
		require.NoError(s, unlock())
	}, outcomes{lock.OutcomeBusy}, nil},
	"cancelled": {func(s *scene) {
		_, unlock := s.taken(s.rival.lock())
		ctx, cancel := context.WithTimeout(s.ctx(), 50*time.Millisecond)
		defer cancel()
		_, _, err := s.mine.lock().Lock(ctx)
		require.ErrorIs(s, err, context.DeadlineExceeded)
		require.NoError(s, unlock())
	}, outcomes{lock.OutcomeCancelled}, nil},
	"cancelled before": {func(s *scene) {
		ctx, cancel := context.WithCancel(s.ctx())
		cancel()
		_, _, err := s.mine.lock().Lock(ctx)
		require.ErrorIs(s, err, context.Canceled)
		_, _, err = s.mine.lock().TryLock(ctx)
		require.ErrorIs(s, err, context.Canceled)
	}, outcomes{lock.OutcomeCancelled, lock.OutcomeCancelled}, nil},
	"closed while it waits": {func(s *scene) {
		_, unlock := s.taken(s.rival.lock())
		failed := make(chan error, 1)
		go func() {
			_, _, err := s.mine.lock().Lock(s.ctx())
			failed <- err
		}()
		synctest.Wait()
		require.NoError(s, s.mine.close())
		require.ErrorIs(s, <-failed, rlock.ErrClosed)
		require.NoError(s, unlock())
	}, outcomes{lock.OutcomeClosed}, nil},
	"closed while it is held": {func(s *scene) {
		held, unlock := s.taken(s.mine.lock())
		require.Error(s, s.mine.close())
		require.ErrorIs(s, context.Cause(held), rlock.ErrClosed)
		require.Error(s, unlock())
		_, _, err := s.mine.lock().Lock(s.ctx())
		require.ErrorIs(s, err, rlock.ErrClosed)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeClosed}},
	"closed and never unlocked": {func(s *scene) {
		held, _ := s.taken(s.mine.lock())
		require.Error(s, s.mine.close())
		require.ErrorIs(s, context.Cause(held), rlock.ErrClosed)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeClosed}},
	"broken and never unlocked": {func(s *scene) {
		held, _ := s.taken(s.mine.lock())
		require.NoError(s, s.rival.breaks(s.ctx()))
		s.lost(held)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeLost}},
	"broken, as unlock finds": {func(s *scene) {
		_, unlock := s.taken(s.mine.lock())
		require.NoError(s, s.rival.breaks(s.ctx()))
		require.ErrorIs(s, unlock(), rlock.ErrLost)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeLost}},
	"expired": {func(s *scene) {
		held, _ := s.taken(s.mine.lock(rlock.FixedLease(lease / 3)))
		s.lost(held)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeLost}},
	"the longest hold": {func(s *scene) {
		held, unlock := s.taken(s.mine.lock(rlock.MaxHold(lease / 3)))
		s.lost(held)
		require.ErrorIs(s, unlock(), rlock.ErrLost)
	}, outcomes{lock.OutcomeHeld}, outcomes{lock.OutcomeLost}},
	"bad input": {func(s *scene) {
		var bad *rlock.ArgumentError
		_, _, err := s.mine.lock(rlock.FixedLease(-1)).Lock(s.ctx())
		require.ErrorAs(s, err, &bad)
		var none context.Context // which is refused
		_, _, err = s.mine.lock().Lock(none)
		require.ErrorAs(s, err, &bad)
	}, nil, nil},
}

func TestEveryWayIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			play(t, way.act, func(s *scene) {
				calls, holds := s.outcomes()
				assert.Equal(s, way.calls, calls)
				assert.Equal(s, way.holds, holds)
			})
		})
	}
}

// One after the other has the lock in one process, and each is told of.
func TestEachTurnIsTold(t *testing.T) {
	const turns = 8
	play(t, func(s *scene) {
		_, unlock := s.taken(s.mine.lock())
		var all errgroup.Group
		for range turns {
			all.Go(func() error {
				return s.mine.lock().Do(s.ctx(), func(context.Context) error { return nil })
			})
		}
		require.NoError(s, unlock())
		require.NoError(s, all.Wait())
	}, func(s *scene) {
		calls, holds := s.outcomes()
		require.Len(s, calls, turns+1)
		require.Len(s, holds, turns+1)
		for i := range calls {
			assert.Equal(s, lock.OutcomeHeld, calls[i])
			assert.Equal(s, lock.OutcomeReleased, holds[i])
		}
	})
}

// A re-entry begins nothing. Permits and sets are no re-entries; a set of locks that the context carries is a call of
// its own.
func TestAReentryIsNotTold(t *testing.T) {
	play(t, func(s *scene) {
		held, unlock := s.taken(s.mine.lock())
		if s.kind != lock.KindSemaphore && s.kind != lock.KindMultilock {
			_, inner, err := s.mine.lock().Lock(held)
			require.NoError(s, err)
			_, fixed, err := s.mine.lock(rlock.FixedLease(time.Minute)).TryLock(held)
			require.NoError(s, err)
			require.NoError(s, unlock()) // what is left of the hold is still the same one
			require.NoError(s, inner())
			unlock = fixed
		}
		require.NoError(s, unlock())
	}, func(s *scene) {
		calls, holds := s.outcomes()
		assert.Equal(s, outcomes{lock.OutcomeHeld}, calls)
		assert.Equal(s, outcomes{lock.OutcomeReleased}, holds)
	})
}

// The store does not answer: the call, and the end of the hold, say so.
func TestAnOutageIsTold(t *testing.T) {
	inLab(t, func(s *scene, at *lab) {
		s.mine = s.open(s.told.Observer())
		_, unlock := s.taken(s.mine.lock(rlock.FixedLease(time.Minute)))
		at.Freeze()
		at.node.Freeze()
		require.ErrorIs(s, unlock(), rlock.ErrUnconfirmed)
		_, _, err := s.mine.lock().TryLock(s.ctx())
		require.ErrorIs(s, err, rlock.ErrUnavailable)
		at.Thaw()
		at.node.Thaw()
		_ = s.mine.close()
		s.told.Check(s)
		calls, holds := s.outcomes()
		assert.Equal(s, outcomes{lock.OutcomeHeld, lock.OutcomeUnavailable}, calls)
		assert.Equal(s, outcomes{lock.OutcomeUnconfirmed}, holds)
	})
}

// Work that was done is told from work that was not begun, by locks of every kind, though the store answers neither
// (defect F12).
func TestWorkWhoseReleaseIsUnconfirmedIsTold(t *testing.T) {
	inLab(t, func(s *scene, at *lab) {
		s.mine = s.open(s.told.Observer())
		failed, ran := errors.New("the work failed"), 0
		for _, want := range []error{nil, failed} {
			err := s.mine.lock(rlock.FixedLease(time.Minute)).Do(s.ctx(), func(context.Context) error {
				ran++
				at.Freeze()
				at.node.Freeze()
				return want
			})
			var work *rlock.WorkError
			var release *rlock.ReleaseError
			require.ErrorAs(s, err, &work)
			require.Equal(s, want, work.Err)
			require.ErrorAs(s, work.Hold, &release)
			require.Equal(s, want == nil, errors.Is(err, rlock.ErrUnconfirmed), "work that failed was not done")
			require.Equal(s, want != nil, errors.Is(err, failed))
			for _, other := range []error{rlock.ErrUnavailable, rlock.ErrLost, rlock.ErrBusy, context.DeadlineExceeded} {
				require.NotErrorIs(s, err, other)
			}
			if s.kind != lock.KindMultilock { // whose errors are its members'
				require.Equal(s, s.kind, release.Kind)
			}
			require.Greater(s, time.Until(release.Until), time.Minute)
			at.Thaw()
			at.node.Thaw()
			time.Sleep(time.Until(release.Until))
		}
		at.Freeze()
		at.node.Freeze()
		err := s.mine.lock().Do(s.ctx(), func(context.Context) error { ran++; return nil })
		require.ErrorIs(s, err, rlock.ErrUnavailable)
		require.NotErrorIs(s, err, rlock.ErrUnconfirmed)
		require.Equal(s, 2, ran)
		at.Thaw()
		at.node.Thaw()
		_ = s.mine.close()
		s.told.Check(s)
		_, holds := s.outcomes()
		assert.Equal(s, outcomes{lock.OutcomeUnconfirmed, lock.OutcomeUnconfirmed}, holds)
	})
}

// The natural thing to return from work that a loss ends is the cause of its context, which unlock returns too: the
// text has it once, and names what was lost (defect F21).
func TestALossIsPrintedOnce(t *testing.T) {
	inLab(t, func(s *scene, at *lab) {
		s.mine = s.open(nil)
		for what, work := range map[string]func(held context.Context) error{
			"the cause":   func(held context.Context) error { return context.Cause(held) },
			"wrapped":     func(held context.Context) error { return fmt.Errorf("stopped: %w", context.Cause(held)) },
			"the context": func(held context.Context) error { return held.Err() },
		} {
			var cause error
			err := s.mine.lock(rlock.FixedLease(lease)).Do(s.ctx(), func(held context.Context) error {
				<-held.Done()
				cause = context.Cause(held)
				return work(held)
			})
			require.ErrorIs(s, err, rlock.ErrLost, what)
			if times := strings.Count(err.Error(), cause.Error()); s.kind != lock.KindMultilock || times > 0 {
				require.Equal(s, 1, times, "%s: %v", what, err) // a set is told of another member first, perhaps
			}
			noun := "lock"
			if s.kind == lock.KindSemaphore {
				noun = "permit of semaphore"
			}
			require.ErrorContains(s, err, noun+` "`, what)
			require.Equal(s, what == "the context", errors.Is(err, context.Canceled), what)
		}
		_ = s.mine.close()
	})
}

type markKey struct{}

// What Held returns is what the work's context is made of: its values are there, and its end is the work's.
func TestHeldMakesTheParent(t *testing.T) {
	inLab(t, func(s *scene, _ *lab) {
		var end context.CancelFunc
		s.mine = s.open(&rlock.Observer{Held: func(ctx context.Context, call rlock.Call) context.Context {
			ctx, end = context.WithCancel(context.WithValue(ctx, markKey{}, call.Kind))
			return ctx
		}})
		held, unlock := s.taken(s.mine.lock())
		require.Equal(s, s.kind, held.Value(markKey{}))
		child, cancel := context.WithCancel(held)
		defer cancel()
		end()
		require.Error(s, child.Err())
		require.NoError(s, unlock())
	})
}

// An observer that panics, or that returns nothing, changes nothing.
func TestAnIllObserverIsSurvived(t *testing.T) {
	inLab(t, func(s *scene, _ *lab) {
		for _, o := range []*rlock.Observer{{
			Begin: func(context.Context, rlock.Call) context.Context { panic("begin") },
			Held:  func(context.Context, rlock.Call) context.Context { panic("held") },
			End:   func(context.Context, rlock.Call, time.Duration, error) { panic("end") },
			Ended: func(context.Context, rlock.Call, time.Duration, error) { panic("ended") },
		}, {
			Begin: func(context.Context, rlock.Call) context.Context { return nil },
			Held:  func(context.Context, rlock.Call) context.Context { return nil },
		}} {
			s.mine = s.open(o)
			held, unlock := s.taken(s.mine.lock())
			require.NoError(s, held.Err())
			require.NoError(s, unlock())
			require.NoError(s, s.mine.close())
		}
	})
}
