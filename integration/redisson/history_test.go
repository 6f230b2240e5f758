package redisson_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/history"
)

// G1, G2, G13: clients of ours and of Redisson's take the same names under every kind of fault that leaves Redis its
// data, and no two are inside together, tokens grow through both, and once the faults are over every caller gets the
// lock.
func TestHistoryWithRedissonUnderFaults(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	report, err := history.Run(t, history.Config{
		Acquisitions: 3000, Faults: 25, Seed: seed, Log: t.Logf, Java: classPath(t),
	})
	require.NoError(t, report.Print(os.Stdout))
	require.NoError(t, err, "seed %d", seed)
	for _, call := range []string{"java-lock:ok", "java-read:ok", "java-permit:ok", "java-try:ok"} {
		require.Positive(t, report.Calls[call], call)
	}
	require.Greater(t, report.Linearized.Operations, report.Acquisitions, "Porcupine saw few of them")
}
