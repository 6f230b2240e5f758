package zklock_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

// However many locks a client holds, none of its sessions has more paths than 256 KiB: the end of a session
// of 2.3 MB ends an ensemble for good. All holds of a session are renewed by one connection.
func TestManyHolds(t *testing.T) {
	t.Parallel()
	const holds, tasks, most = 2500, 20, 256 << 10
	sent, told := &wire{}, &holding.Renewals{}
	c := client(t, zklock.Options{Lease: 5 * brief, Dial: sent.Dial, Observer: told.Observer()})
	plain := connect(t, zktest.Shared(t).Addr())
	name := nameOf(t)
	all := make([]turn, holds)
	names := make([]string, holds)
	each := func(do func(i int)) {
		var running sync.WaitGroup
		for task := range tasks {
			running.Go(func() {
				for i := task; i < holds; i += tasks {
					do(i)
				}
			})
		}
		running.Wait()
	}
	each(func(i int) {
		names[i] = fmt.Sprint(name, i)
		held, unlock, err := c.Lock(names[i]).Lock(within(t))
		all[i] = turn{held, unlock, err}
	})
	bytes := make(map[int64]int)
	for i, one := range all {
		require.NoError(t, one.err)
		nodes := plain.children(t, pathOf(names[i]))
		require.Len(t, nodes, 1)
		bytes[nodes[0].Owner] += len(nodes[0].path)
	}
	require.Greater(t, len(bytes), 1)
	for _, n := range bytes {
		require.LessOrEqual(t, n, most)
	}
	attached := sent.Count(sweeping)
	eventually(t, func() bool { return told.Least(names) > 0 }, "every hold is renewed")
	attached = sent.Count(sweeping) - attached
	t.Logf("%d sessions, %d connections for a renewal of each hold", len(bytes), attached)
	require.LessOrEqual(t, attached, 4*len(bytes))
	for _, one := range all {
		require.NoError(t, one.held.Err())
	}
	each(func(i int) { all[i].err = all[i].unlock() })
	for i, one := range all {
		require.NoError(t, one.err)
		require.Empty(t, plain.children(t, pathOf(names[i])))
	}
}
