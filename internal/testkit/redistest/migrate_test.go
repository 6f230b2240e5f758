package redistest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A node gives one slot away right after it was given another one: without a wait between the two, the nodes disagreed
// for good on that slot in one of twenty cases.
func TestSlotsThatMoveOneAfterTheOther(t *testing.T) {
	t.Parallel()
	lab := Cluster(t, 3)
	for i := range 60 {
		comes, goes := 16000-i, 100+i
		lab.SetSlotMigrating(t, comes, 2, 0)
		lab.SetSlotMigrating(t, goes, 0, 1)
		lab.FinishSlot(t, comes, 0)
		lab.FinishSlot(t, goes, 1)
		require.True(t, lab.settled(t, comes, 0) && lab.settled(t, goes, 1))
	}
}
