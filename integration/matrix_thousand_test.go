package integration_test

import "testing"

// Need 22: a thousand callers in ten processes wait for one lock. What a turn costs Redis goes by the
// processes that wait, of which each has one listener and one asker, and not by the callers.
func TestAThousandWaitersOfTenProcesses(t *testing.T) {
	t.Parallel()
	const clients, waiters = 10, 100
	crowdTurns(t, clients, waiters).ran(t, clients)
}
