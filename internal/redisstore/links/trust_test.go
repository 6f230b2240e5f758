package links

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Trust lasts for its period from the newest moment up to which all replicas confirm, not from the answer that says so.
func TestTrustLastsFromTheMomentThatIsConfirmed(t *testing.T) {
	began := time.Now()
	second := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	trusted := trust{period: 10 * time.Second, turned: make(chan struct{})}
	until := func(end int) {
		t.Helper()
		before := second(end).Add(-1)
		require.True(t, trusted.stands(before) && !trusted.lapsed(before))
		require.False(t, trusted.stands(second(end)))
		require.True(t, trusted.lapsed(second(end)))
		require.True(t, trusted.stale(second(end-10).Add(staleAfter)))
		require.False(t, trusted.stale(second(end-10).Add(staleAfter-1)))
	}
	require.False(t, trusted.stands(began) || trusted.lapsed(began) || trusted.stale(began), "nobody is named yet")
	trusted.begin("a", began)
	until(10)
	turned := trusted.turned
	trusted.heard(master(100, map[string]int64{"x": 100, "y": 100}), second(1))
	until(11)
	<-turned
	turned = trusted.turned
	trusted.heard(master(200, map[string]int64{"x": 200, "y": 199}), second(2))
	until(11)
	select {
	case <-turned:
		require.Fail(t, "nothing was confirmed")
	default:
	}
	trusted.heard(master(300, map[string]int64{"x": 250, "y": 200}), second(4))
	until(12)
	trusted.heard(master(400, map[string]int64{"x": 250}), second(5))
	trusted.heard(master(500, map[string]int64{"x": 500}), second(6))
	until(12)

	require.Empty(t, trusted.heirs(second(6).Add(rolePause)), "it answered a moment ago")
	require.Equal(t, map[string]int64{"x": 500}, trusted.heirs(second(7)))
	trusted.begin("x", second(8))
	until(18)
	require.Empty(t, trusted.heirs(second(60)), "it has said nothing yet")
	trusted.heard(&primaryRole{}, second(9))
	require.False(t, trusted.stands(second(9)), "it says that it is no master")
}

// An answer to a moment from before the period confirms nothing: so the list of moments has an end.
func TestMomentsEndWithTheirPeriod(t *testing.T) {
	trusted := trust{period: 10 * time.Second, turned: make(chan struct{})}
	began := time.Now()
	trusted.begin("a", began)
	trusted.heard(master(0, map[string]int64{"x": 0}), began)
	for i := range int64(1000) {
		trusted.heard(master(i+1, map[string]int64{"x": 0}), began.Add(time.Duration(i+1)*rolePause))
		require.LessOrEqual(t, len(trusted.moments), int(trusted.period/rolePause))
	}
	require.Equal(t, began, trusted.confirmed)
}
