package serverclock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Nodes come back under other addresses. What is known of those that serve nothing any more goes when the next one comes
// (defect G11).
func TestClocksOfNodesThatWereReplacedGo(t *testing.T) {
	t.Parallel()
	serves := ""
	clocks := Clocks{Serves: func(node string) bool { return node == serves }}
	for i := range 200 {
		serves = fmt.Sprint("10.0.0.", i, ":6379")
		require.Zero(t, clocks.NotAfter(serves, s, s))
		clocks.Observe(serves, 0, 0, time.Hour.Microseconds())
		require.Len(t, clocks.nodes, 1)
		require.Equal(t, (time.Hour + s).Microseconds(), clocks.NotAfter(serves, s, 0))
	}
}

// All nodes of a cluster may come back under other addresses at a time. Of one that has not been heard of since, the
// latest time is not too early, though another one was that has an earlier clock.
func TestTheLatestTimeOfANodeThatCameBack(t *testing.T) {
	t.Parallel()
	generation := "1"
	clocks := Clocks{Serves: func(node string) bool { return node[1:] == generation }}
	clocks.Observe("a1", 0, 0, time.Hour.Microseconds())
	clocks.Observe("b1", 0, 0, (2 * time.Hour).Microseconds())
	generation = "2"
	require.Equal(t, (2 * time.Hour).Microseconds(), clocks.Latest("b2", 0))
	clocks.Observe("a2", 0, 0, time.Hour.Microseconds())
	require.Equal(t, (2 * time.Hour).Microseconds(), clocks.Latest("b2", 0))
	require.Equal(t, time.Hour.Microseconds(), clocks.Latest("a2", 0))
	clocks.Observe("b2", 0, 0, (2 * time.Hour).Microseconds())
	generation = "3"
	clocks.Observe("a3", 0, 0, time.Hour.Microseconds())
	clocks.Observe("b3", 0, 0, time.Minute.Microseconds()) // the clock of another machine
	generation = "4"
	clocks.Observe("a4", 0, 0, time.Minute.Microseconds())
	require.Equal(t, time.Hour.Microseconds(), clocks.Latest("b4", 0), "what went before that counts no more")
}
