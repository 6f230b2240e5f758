package observertest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// on runs a test of one client in virtual time, and then checks what was told.
func on(t *testing.T, act func(t *testing.T, c *rlock.Client, at *lab, told *observertest.Checker), check func(told *observertest.Checker)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at, told := &lab{Lab: holdfasttest.New(t)}, &observertest.Checker{}
		c := client(at, told.Observer())
		act(t, c, at, told)
		_ = c.Close()
		told.Check(t)
		check(told)
	})
}

func take(t *testing.T, l rlock.Locker, ctx context.Context) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	return held, unlock
}

// An export ends the hold here, and an import is a call like any other.
func TestAMoveIsTold(t *testing.T) {
	inLab(t, func(s *scene, _ *lab) {
		s.mine = s.open(s.told.Observer())
		l, ok := s.mine.lock().(*rlock.Lock)
		if !ok || s.kind == lock.KindRedlock {
			return // it cannot be moved
		}
		held, unlock := s.taken(l)
		token, err := l.Export(held)
		require.NoError(s, err)
		require.ErrorIs(s, unlock(), rlock.ErrNotHeld)
		_, unlock, err = l.Import(s.ctx(), token)
		require.NoError(s, err)
		require.NoError(s, unlock())
		_, _, err = l.Import(s.ctx(), token)
		require.ErrorIs(s, err, rlock.ErrNotHeld)
		held, _ = s.taken(l)
		require.NoError(s, l.Break(s.ctx()))
		_, err = l.Export(held)
		require.Error(s, err)
		_ = s.mine.close()
		s.told.Check(s)
		calls, holds := s.outcomes()
		assert.Equal(s, outcomes{
			lock.OutcomeHeld, lock.OutcomeHeld, lock.OutcomeError, lock.OutcomeHeld,
		}, calls)
		assert.Equal(s, outcomes{lock.OutcomeExported, lock.OutcomeReleased, lock.OutcomeLost}, holds)
		assert.True(s, s.told.Calls()[1].Try, "an import does not wait")
	})
}

// Readers who have one grant together are told of one by one, however each comes and goes.
func TestReadersTogetherAreToldApart(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, _ *lab, told *observertest.Checker) {
		read := func(opts ...rlock.Option) *rlock.Lock { return rwlock.New(c, "book", opts...).Read() }
		first, unlockFirst := take(t, read(), t.Context())
		short, unlockShort := take(t, read(rlock.MaxHold(lease/4)), t.Context())
		moved, _ := take(t, read(), t.Context())
		_, unlockLast := take(t, read(), t.Context())
		require.NoError(t, first.Err())
		require.NoError(t, unlockFirst())
		_, err := read().Export(moved)
		require.NoError(t, err)
		<-short.Done()
		synctest.Wait()
		require.Len(t, told.Holds(), 3, "it is told before the unlock")
		require.ErrorIs(t, unlockShort(), rlock.ErrLost)
		require.NoError(t, unlockLast())
	}, func(told *observertest.Checker) {
		var ends outcomes
		for _, e := range told.Holds() {
			ends = append(ends, lock.OutcomeOfHold(e.Err))
		}
		assert.Equal(t, outcomes{
			lock.OutcomeReleased, lock.OutcomeExported, lock.OutcomeLost, lock.OutcomeReleased,
		}, ends)
		assert.Len(t, told.Calls(), 4)
	})
}

// Readers wait for one another's answer, join, are lost together, and leave.
func TestReadersThatAreLostTogetherAreToldEach(t *testing.T) {
	const readers = 16
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		var reading sync.WaitGroup
		for range readers {
			reading.Go(func() {
				held, _, err := rwlock.New(c, "book").Read().Lock(t.Context())
				if assert.NoError(t, err) {
					<-held.Done()
				}
			})
		}
		synctest.Wait()
		at.Lose("book", rlock.LossGone)
		reading.Wait()
	}, func(told *observertest.Checker) {
		assert.Len(t, told.Holds(), readers)
		for _, e := range told.Holds() {
			assert.ErrorIs(t, e.Err, rlock.ErrLost)
		}
	})
}

// A latch and a counting semaphore are waited for, and then nobody has anything.
func TestWhatIsNotHeldHasCallsAlone(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, _ *lab, _ *observertest.Checker) {
		gate, tickets := latch.New(c, "gate"), semaphore.NewCounting(c, "tickets")
		require.NoError(t, gate.Set(t.Context(), 1))
		require.NoError(t, tickets.Set(t.Context(), 3))
		require.NoError(t, tickets.TryAcquire(t.Context(), 3))
		require.ErrorIs(t, tickets.TryAcquire(t.Context(), 1), rlock.ErrBusy)
		var waiting sync.WaitGroup
		waiting.Go(func() { assert.NoError(t, gate.Wait(t.Context())) })
		waiting.Go(func() { assert.NoError(t, tickets.Acquire(t.Context(), 2)) })
		synctest.Wait()
		time.Sleep(time.Second)
		require.NoError(t, gate.CountDown(t.Context()))
		require.NoError(t, tickets.Release(t.Context(), 2))
		waiting.Wait()
	}, func(told *observertest.Checker) {
		assert.Empty(t, told.Holds())
		got := make(map[lock.Call][]lock.Outcome)
		for _, e := range told.Calls() {
			got[e.Call] = append(got[e.Call], lock.OutcomeOf(e.Err))
			assert.Equal(t, !e.Try, e.Took >= time.Second)
		}
		assert.Equal(t, map[lock.Call][]lock.Outcome{
			{Store: rlock.Store, Name: "tickets", Kind: lock.KindCounting, Permits: 3, Try: true}: {lock.OutcomeHeld},
			{Store: rlock.Store, Name: "tickets", Kind: lock.KindCounting, Permits: 1, Try: true}: {lock.OutcomeBusy},
			{Store: rlock.Store, Name: "tickets", Kind: lock.KindCounting, Permits: 2}:            {lock.OutcomeHeld},
			{Store: rlock.Store, Name: "gate", Kind: lock.KindLatch}:                              {lock.OutcomeHeld},
		}, got)
	})
}

// A set is told of as one, to the client of its first lock, while what it re-enters goes on.
func TestASetIsToldAsOne(t *testing.T) {
	var others observertest.Checker
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		other := client(at, others.Observer())
		set := multilock.New([]*rlock.Lock{rlock.New(c, "b"), rlock.New(other, "a"), rlock.New(c, "c")})
		outer, unlockOuter := take(t, rlock.New(c, "b"), t.Context())
		_, unlockSet := take(t, set, outer)
		require.NoError(t, unlockOuter(), "the set has it still")
		require.NoError(t, unlockSet())
		held, _ := take(t, set, t.Context())
		at.Lose("a", rlock.LossGone)
		<-held.Done()
		require.NoError(t, other.Close())
	}, func(told *observertest.Checker) {
		others.Check(t)
		assert.Empty(t, others.Calls())
		assert.Empty(t, others.Holds())
		const name = "b,a,c"
		var holds []string
		var ends outcomes
		for _, e := range told.Holds() {
			holds, ends = append(holds, e.Name), append(ends, lock.OutcomeOfHold(e.Err))
		}
		assert.ElementsMatch(t, []string{name, "b", name}, holds)
		assert.ElementsMatch(t, outcomes{lock.OutcomeReleased, lock.OutcomeReleased, lock.OutcomeLost}, ends)
		assert.Len(t, told.Calls(), 3)
	})
}

// What a job keeps after its end is no hold any more.
func TestAHoldEndsBeforeMinHold(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, _ *lab, _ *observertest.Checker) {
		_, unlock := take(t, rlock.New(c, "job", rlock.MinHold(time.Hour)), t.Context())
		require.NoError(t, unlock())
		_, _, err := rlock.New(c, "job").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
	}, func(told *observertest.Checker) {
		require.Len(t, told.Holds(), 1)
		assert.NoError(t, told.Holds()[0].Err)
		assert.Less(t, told.Holds()[0].Took, time.Minute)
	})
}
