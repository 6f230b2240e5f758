package redistest_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A primary that is killed is replaced by its replica, comes back as the replica's, and can be made the
// primary again; the data is there all the time.
func TestReplicatedClusterFailsOverAndBack(t *testing.T) {
	lab := redistest.ReplicatedCluster(t, 3)
	rdb := lab.Client(t)
	for i := range 30 {
		require.NoError(t, rdb.Set(t.Context(), "k"+strconv.Itoa(i), i, 0).Err())
	}
	for i := range lab.Len() {
		redistest.Eventually(t, limit, func() bool {
			return len(lab.Replica(i).Keys(t)) == len(lab.Node(i).Keys(t))
		}, "the replica did not get all")
		lab.Node(i).Kill()
		lab.Promote(t, i)
		lab.Node(i).Restart()
		redistest.Eventually(t, limit, func() bool {
			return lab.Node(i).Info(t, "replication")["role"] == "slave"
		}, "the old primary is none's replica")
	}
	readable := func() {
		t.Helper()
		for i := range 30 {
			redistest.Eventually(t, limit, func() bool {
				return rdb.Get(t.Context(), "k"+strconv.Itoa(i)).Val() == strconv.Itoa(i)
			}, "a key is not there")
		}
	}
	readable()
	for i := range lab.Len() {
		lab.Demote(t, i)
	}
	readable()
	require.Equal(t, "master", lab.Node(0).Info(t, "replication")["role"])
}
