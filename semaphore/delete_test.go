package semaphore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// keys are all keys that belong to the semaphore.
func (l *lab) keys() []string {
	l.Helper()
	all, err := l.direct.Keys(l.Context(), "*"+l.name+"*").Result()
	require.NoError(l, err)
	var own []string
	for _, key := range all {
		if key != l.name+":warm" && key != "holdfast_request:{"+l.name+":warm}" {
			own = append(own, key)
		}
	}
	return own
}

// defect C2: a semaphore that is not needed any more can be taken away, with all that it keeps in Redis.
func TestASemaphoreIsDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(2)
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	err = semaphore.New(l.other, l.name).Delete(t.Context())
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorContains(t, err, ": 1 permits are held")
	l.sums(1, 1)
	require.NoError(t, held.Err())
	require.NoError(t, release())
	require.NoError(t, s.Delete(t.Context()))
	require.Equal(t, []string{"holdfast_request:{" + l.name + "}"}, l.keys(), "which expires")
	require.Positive(t, l.direct.PTTL(t.Context(), l.keys()[0]).Val())
	require.NoError(t, s.Delete(t.Context()), "there is none")
	require.ErrorIs(t, ignore(s.TryAcquire(t.Context(), 1)), semaphore.ErrNoCapacity)
	require.NoError(t, s.SetCapacity(t.Context(), 3))
	l.sums(3, 0)
}

// defect C2, of a Counting.
func TestACountingSemaphoreIsDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(5)
	require.NoError(t, s.Acquire(t.Context(), 2))
	require.NoError(t, s.Delete(t.Context()))
	require.Equal(t, []string{"holdfast_request:{" + l.name + "}"}, l.keys(), "which expires")
	require.NoError(t, s.Delete(t.Context()), "there is none")
	waiter := l.waitsFor(l.bounded(), s, 1)
	require.NoError(t, s.Release(t.Context(), 2))
	require.NoError(t, arrives(t, waiter, "there is one again"))
	l.is(1)
}

// A deletion that is sent again takes nothing away that came since.
func TestADeletionUnderFaultsDeletesOnce(t *testing.T) {
	underFaults(t, "count_delete", func(l *lab, strike func() *shot) {
		s := l.counting(3)
		shot := strike()
		require.NoError(l, s.Delete(l.bounded()))
		require.NoError(l, semaphore.NewCounting(l.other, l.name).Set(l.bounded(), 4))
		shot.struck(l)
		l.quietly()
		l.is(4)
	})
}

func TestADeletionOfPermitsUnderFaultsDeletesOnce(t *testing.T) {
	underFaults(t, "permit_delete", func(l *lab, strike func() *shot) {
		s := l.leased(3)
		shot := strike()
		require.NoError(l, s.Delete(l.bounded()))
		require.NoError(l, semaphore.New(l.other, l.name).SetCapacity(l.bounded(), 4))
		shot.struck(l)
		l.quietly()
		l.sums(4, 0)
	})
}

// defect C1: however many calls there are, Redis remembers those of the last seconds, in one key.
func TestWhatIsRememberedOfRequestsIsBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	requests := "holdfast_request:{" + l.name + "}"
	s := l.leased(1)
	for range 50 {
		require.NoError(t, s.SetCapacity(t.Context(), 1), "which changes nothing")
	}
	require.ElementsMatch(t, []string{l.name, requests}, l.keys())
	l.quietly() // until no copy of those can come any more
	for range 2 {
		require.NoError(t, s.SetCapacity(t.Context(), 1))
	}
	require.LessOrEqual(t, l.direct.ZCard(t.Context(), requests).Val(), int64(3), "the rest is forgotten")
}

// defect C1, of a Counting: its acquisitions are remembered for long only if they were not answered.
func TestWhatIsRememberedOfCountsIsBounded(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	requests := "holdfast_request:{" + l.name + "}"
	s := l.counting(10)
	pairs := func(n int) {
		for range n {
			require.NoError(t, s.Acquire(t.Context(), 1))
			require.NoError(t, s.Release(t.Context(), 1))
		}
	}
	pairs(50)
	require.ElementsMatch(t, []string{l.name, requests}, l.keys())
	l.quietly()
	pairs(2)
	left := l.direct.ZRange(t.Context(), requests, 0, -1).Val()
	require.LessOrEqual(t, len(left), 5, fmt.Sprint("the rest is forgotten: ", left))
	l.is(10)
}

// defect C3: the spelling by which two semaphores would share one set of leases is refused, before anything
// is sent. Those with a hash tag that a cluster needs are not.
func TestASpellingThatSharesItsLeases(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for _, name := range []string{"{" + l.name + "}", "{a}b}", "{{"} {
		s := semaphore.New(l.client, name)
		err := s.SetCapacity(t.Context(), 2)
		if name == "{{" {
			require.NoError(t, err, "nothing is derived from another name that looks like this one's")
			require.NoError(t, s.Delete(t.Context()))
			continue
		}
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, name)
		require.Equal(t, "name", bad.Name)
		require.Contains(t, bad.Problem, "use that, which is in the same slot")
		require.Zero(t, l.direct.Exists(t.Context(), name).Val())
	}
	for _, name := range []string{"{" + l.name + "}:jobs", "a{" + l.name + "}", "{" + l.name + "}{x}", l.name} {
		s := semaphore.New(l.client, name)
		require.NoError(t, s.SetCapacity(t.Context(), 1), name)
		require.NoError(t, s.Delete(t.Context()), name)
	}
}
