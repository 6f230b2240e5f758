package simulation_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/simulation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Whole clients keep what they promise in schedules that chance makes.
func TestSchedules(t *testing.T) { simulation.Until(t, "", 4*time.Second) }

// The same of fair locks alone, of which few schedules are such that the order can be checked.
func TestFairSchedules(t *testing.T) { simulation.Until(t, "fair", 3*time.Second) }

// The same of sets of locks, beside callers that want one of their names.
func TestSetSchedules(t *testing.T) { simulation.Until(t, "multilock", 3*time.Second) }

// The same of locks over independent servers.
func TestRedlockSchedules(t *testing.T) { simulation.Until(t, "redlock", 3*time.Second) }

// The same of fair locks whose invitations come late and twice.
func TestInvitationSchedules(t *testing.T) { simulation.Until(t, "invitations", 3*time.Second) }

// The same of locks whose acquisitions are transactions, which nobody sees before their commits are over.
func TestCommitSchedules(t *testing.T) { simulation.Until(t, "commits", 3*time.Second) }

// The same of fair locks whose turns pass in memory while holds are broken and processes are away (defect F9).
func TestRunSchedules(t *testing.T) { simulation.Until(t, "runs", 3*time.Second) }

// The schedule of a seed is the same when it is run again, or nearly so (see "What it is not"). HOLDFAST_REPLAYS says how
// often each of some seeds is run, and the share that is the same is printed; docs/evidence.md has that of a hundred.
func TestASeedIsRunAgain(t *testing.T) {
	runs, seeds := 4, uint64(12)
	if text := os.Getenv("HOLDFAST_REPLAYS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		runs, seeds = n, 50
	}
	from := uint64(time.Now().UnixNano()) % 1e12
	exact, same, all := 0, 0, 0
	for seed := from; seed < from+seeds; seed++ {
		r := simulation.Replay(t, seed, runs)
		same, all = same+r.Same, all+r.Runs
		if r.Same == r.Runs {
			exact++
		} else {
			t.Logf("seed %d: %d of %d runs sent the same, and all of them the first %d of %d requests",
				r.Seed, r.Same, r.Runs, r.Agreed, r.Requests)
		}
	}
	t.Logf("%d of %d runs sent the same at the same instants; all runs of %d of %d seeds", same, all, exact, seeds)
	require.Positive(t, exact, "no seed repeats its schedule")
}
