package integration_test

import "testing"

// Need 22: a thousand callers in ten processes wait for one lock. What a turn costs Redis depends on the number of
// waiting processes, each with one listener and one asking waiter, not on the number of callers.
func TestAThousandWaitersOfTenProcesses(t *testing.T) {
	t.Parallel()
	const clients, waiters = 10, 100
	crowdTurns(t, clients, waiters).ran(t, clients)
}
