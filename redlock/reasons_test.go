package redlock_test

import (
	"errors"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// The time for which a restarted server has no vote is what is left of it (defect F23): each error said how long it was
// when the server was asked.
func TestTheTimeThatIsLeftOfAGuardCountsDown(t *testing.T) {
	t.Parallel()
	l, o := newLab(t, 1), options(time.Minute)
	o.NoRestartGuard = false
	lock := redlock.New(l.client(l.direct(), o), "young")
	left := func() time.Duration {
		_, _, err := lock.TryLock(within(t))
		require.ErrorIs(t, err, redlock.ErrRestarted)
		found := regexp.MustCompile(`\((\S+) left\)`).FindStringSubmatch(err.Error())
		require.NotNil(t, found, err)
		d, err := time.ParseDuration(found[1])
		require.NoError(t, err)
		return d
	}
	first := left()
	require.Positive(t, first)
	redistest.Eventually(t, patience, func() bool { return left() < first }, "it is less")
}

// An error accounts for all nodes (defect F23): "0 of 5 agreed" explained three.
func TestAnErrorAccountsForAllNodes(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	lock := redlock.New(l.client(l.direct(), options(time.Minute)), "counted")
	for i, s := range l.servers {
		if i < 2 {
			require.NoError(t, s.Client(t).HSet(t.Context(), "counted", "other:1", 1).Err())
			require.NoError(t, s.Client(t).PExpire(t.Context(), "counted", time.Minute).Err())
		} else {
			s.Kill()
		}
	}
	// Two that hold it and the first that cannot be reached leave no quorum: a call that has heard of no more is told
	// that it is busy. From then on the links of the others are known to be down.
	var err error
	redistest.Eventually(t, patience, func() bool {
		_, _, err = lock.TryLock(within(t))
		return !errors.Is(err, rlock.ErrBusy)
	}, "three are down")
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "0 of 5 nodes agreed, need 3")
	total := len(blamed(err))
	require.Equal(t, 3, total)
	for _, said := range regexp.MustCompile(`; (\d) (hold it|had not)`).FindAllStringSubmatch(err.Error(), -1) {
		n, err := strconv.Atoi(said[1])
		require.NoError(t, err)
		total += n
	}
	require.Equal(t, 5, total, err)
}
