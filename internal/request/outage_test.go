package request

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that waits for a disk answers later than one that has its own memory alone, and is not silent.
func TestARequestThatIsConfirmedMayTakeAllOfItsTime(t *testing.T) {
	for lease, times := range map[time.Duration][2]time.Duration{
		30 * time.Second: {2250 * time.Millisecond, 3 * time.Second},
		9 * time.Second:  {1125 * time.Millisecond, 1500 * time.Millisecond},
		time.Second:      {time.Second / 3, time.Second / 3},
	} {
		require.Equal(t, times[0], (&Config{Lease: lease}).logAfter())
		require.Equal(t, times[1], (&Config{Lease: lease, Confirmed: true}).logAfter())
	}
}
