package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Need 22: a thousand callers in ten processes wait for one lock. What a turn costs Redis goes by the
// processes that wait, of which each has one listener and one asker, and not by the callers.
func TestAThousandWaitersOfTenProcesses(t *testing.T) {
	t.Parallel()
	const clients, waiters = 10, 100
	c := crowdTurns(t, clients, waiters)
	require.Equal(t, clients*waiters, c.turns)
	require.GreaterOrEqual(t, c.handoff+c.release, c.turns, "every turn ends with one script")
	require.LessOrEqual(t, c.handoff+c.release, c.turns+3*clients)
	releases := c.release + 1 // and the holder's
	require.LessOrEqual(t, c.acquire, 3*clients*releases, "a release wakes one waiter of each process: %+v", c)
}
