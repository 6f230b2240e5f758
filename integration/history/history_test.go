package history_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

var seed = flag.Uint64("history.seed", uint64(time.Now().UnixNano()), "decides the faults of the run")

func TestMain(m *testing.M) {
	history.Client()
	redistest.Main(m)
}

// G1, G2, G3, G4, G5, G6, G13: under every kind of fault that leaves Redis its memory, nobody believes in
// a hold that another believes in, tokens grow, and once the faults are over everybody gets in and
// nothing is left.
func TestHistoryUnderFaults(t *testing.T) {
	report, err := history.Run(t, history.Config{
		Acquisitions: 5000, Faults: 25, Seed: *seed, Limit: 150 * time.Second, Log: t.Logf,
	})
	require.NoError(t, report.Print(os.Stdout))
	require.NoError(t, err, "-history.seed=%d", *seed)
	require.GreaterOrEqual(t, report.Acquisitions, 5000)
	require.GreaterOrEqual(t, report.Injected(), 25)
}

// A run that would not contain every kind of fault, or no acquisitions, is refused: it would prove little.
func TestVoidRunsAreRefused(t *testing.T) {
	for _, cfg := range []history.Config{
		{Acquisitions: 5000, Faults: 5}, {Faults: 100},
	} {
		_, err := history.Run(t, cfg)
		require.Error(t, err)
	}
}
