package etcdlock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/lock"
)

// A server may allow fewer operations in a transaction than usual. Then many holds are renewed and released by smaller
// ones, and Check says so. (defect G28)
func TestAServerThatAllowsFewOperations(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--max-txn-ops=8")
	const lease = 2 * brief
	var seen holding.Renewals
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: lease, Observer: seen.Observer()})
	var holds []turn
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprint("name", i))
		held, unlock := take(t, c.Lock(names[i]))
		holds = append(holds, turn{held: held, unlock: unlock})
	}
	seen.Outlast(t, names...)
	for _, one := range holds {
		require.NoError(t, one.held.Err())
	}
	found := levels(etcdlock.Check(within(t), c))
	require.Equal(t, lock.LevelWarning, found["operations"])
	require.Equal(t, lock.LevelOK, found["trial"])
	require.ErrorContains(t, c.Close(), `"name1"`)
	require.Equal(t, []string{"holdfast/base"}, server.Keys(t, ""))

	_, told := levels(etcdlock.Check(within(t), client(t, connect(t, etcdtest.Shared(t).Endpoint()),
		etcdlock.Options{})))["operations"]
	require.False(t, told)
}
