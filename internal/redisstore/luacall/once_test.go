package luacall

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
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
	require.Equal(t, AcquireReply{store.AcquireReply{Status: Held, Fence: 9, PTTL: milliseconds(1500), Spare: 4}, 7}, acquired)
	released, err := releaseReply([]int64{3, 2, 7})
	require.NoError(t, err)
	require.Equal(t, ReleaseReply{store.ReleaseReply{Status: Done, Receivers: 2}, 7}, released)
}
