package luacall

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The scripts of a free lock answer with numbers alone. A row of another length is none of ours.
func TestRowsOfAnotherLength(t *testing.T) {
	for _, row := range [][]int64{nil, {}, {1}, {1, 2}, {1, 2, 3, 4, 5, 6}} {
		_, err := acquireReply(row)
		require.Error(t, err)
		_, err = releaseReply(row)
		require.Error(t, err)
	}
	acquired, err := acquireReply([]int64{1, 9, 1500, 7, 4})
	require.NoError(t, err)
	require.Equal(t, AcquireReply{Status: Held, Fence: 9, PTTL: milliseconds(1500), Now: 7, Spare: 4}, acquired)
	released, err := releaseReply([]int64{3, 2, 7})
	require.NoError(t, err)
	require.Equal(t, ReleaseReply{Status: Done, Receivers: 2, Now: 7}, released)
}
