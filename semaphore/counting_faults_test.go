package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestCountingUnderFaultsIsExact(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for script, op := range map[string]func(l *lab, s *semaphore.Counting) (change int64){
		"count_acquire": func(l *lab, s *semaphore.Counting) int64 {
			require.NoError(l, s.Acquire(l.bounded(), 3))
			return -3
		},
		"count_release": func(l *lab, s *semaphore.Counting) int64 {
			require.NoError(l, s.Release(l.bounded(), 3))
			return 3
		},
		"count_drain": func(l *lab, s *semaphore.Counting) int64 {
			drained, err := s.Drain(l.bounded())
			require.NoError(l, err)
			require.Equal(l, int64(10), drained)
			return -10
		},
	} {
		for name, fault := range faults {
			t.Run(script+", "+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, server)
				l.loadScripts()
				s := l.counting(10)
				shot := l.strike(script, fault)
				change := op(l, s)
				l.is(10 + change)
				require.NoError(t, semaphore.NewCounting(l.other, l.name).Release(t.Context(), 7))
				shot.struck(l)
				l.quietly()
				l.is(17 + change)
			})
		}
	}
}

// A set that is sent again is no second set, and one that comes late does not undo what came since.
func TestASetUnderFaultsIsExact(t *testing.T) {
	underFaults(t, "count_set", func(l *lab, strike func() *shot) {
		s := semaphore.NewCounting(l.client, l.name)
		shot := strike()
		require.NoError(l, s.Set(l.bounded(), 3))
		require.NoError(l, l.direct.Del(l.Context(), l.name).Err())
		shot.struck(l)
		l.quietly()
		require.Zero(l, l.direct.Exists(l.Context(), l.name).Val())
		require.NoError(l, s.Set(l.bounded(), 4))
		l.is(4)
	})
}

// The permits of an abandoned call come back, whenever its request is carried out.
func TestACancelledCountComesBack(t *testing.T) {
	underFaults(t, "count_acquire", func(l *lab, strike func() *shot) {
		s := l.counting(5)
		ctx, cancel := context.WithCancel(l.bounded())
		shot := strike()
		result := make(chan error, 1)
		go func() { result <- s.Acquire(ctx, 2) }()
		shot.rule.Wait(l, 1)
		cancel()
		want := int64(5)
		if err := arrives(l, result, "it returns though Redis does not answer"); err == nil {
			want = 3 // the answer was there before
		} else {
			require.ErrorIs(l, err, context.Canceled)
		}
		shot.struck(l)
		l.quietly()
		redistest.Eventually(l, patience, func() bool {
			n, _ := l.direct.Get(l.Context(), l.name).Int64()
			return n == want
		}, "it comes back")
		l.quietly()
		l.is(want)
	})
}

// Remembered requests expire by themselves.
func TestRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.counting(5)
	require.NoError(t, s.Acquire(t.Context(), 2))
	require.NoError(t, s.Release(t.Context(), 2))
	ttl := l.direct.PTTL(t.Context(), "holdfast_request:{"+l.name+"}").Val()
	require.Positive(t, ttl)
	require.Less(t, ttl, time.Minute)
}
