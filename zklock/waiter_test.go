package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/zklock"
)

// A waiter whose node somebody deletes asks again, and comes last.
func TestAWaiterWhoseNodeIsDeleted(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 3, zklock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	first := waits(t, plain, all[1].Lock(name), 2)
	second := waits(t, plain, all[2].Lock(name), 3)
	nodes := plain.stand(t, pathOf(name), 3)
	plain.deletes(t, nodes[1].path)
	eventually(t, func() bool { return len(plain.children(t, pathOf(name))) == 3 }, "it stands again")
	require.Equal(t, nodes[2], plain.children(t, pathOf(name))[1])
	require.NoError(t, unlock())
	unlock = has(t, second).unlock
	require.NoError(t, unlock())
	require.NoError(t, has(t, first).unlock())
}

// A waiter whose connection is lost has another one soon, and looks there, though its client holds nothing, and its
// session lasts for much longer.
func TestAWaiterWhoseConnectionIsLost(t *testing.T) {
	t.Parallel()
	path, sent := &netfault.Path{}, &wire{}
	sent.dial = path.Dial
	c := client(t, zklock.Options{Lease: 100 * time.Second, Dial: sent.Dial})
	all, plain := clients(t, 1, zklock.Options{})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	got := waits(t, plain, c.Lock(name), 2)
	eventually(t, func() bool { return sent.Count(looking) >= 2 }, "it has its own node and the one before watched")
	looked := sent.Count(looking)
	require.Positive(t, path.Cut())
	eventually(t, func() bool { return sent.Count(looking) >= looked+2 }, "it has them watched again")
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
}

// A waiter whose predecessor leaves stands behind the holder. When the holder leaves, it has the lock without asking.
func TestAWaiterBehindOneThatLeaves(t *testing.T) {
	t.Parallel()
	sent := &wire{}
	all, plain := clients(t, 2, zklock.Options{})
	last := client(t, zklock.Options{Dial: sent.Dial})
	name := nameOf(t)
	_, unlock := take(t, all[0].Lock(name))
	between := waits(t, plain, all[1].Lock(name), 2)
	got := waits(t, plain, last.Lock(name), 3)
	eventually(t, func() bool { return sent.Count(looking) >= 2 }, "it has its own node and the one before watched")
	require.NoError(t, all[1].Close())
	require.Error(t, await(t, between, "it leaves").err)
	eventually(t, func() bool { return sent.Count(listing) >= 2 }, "it looks who is before it now")
	require.Len(t, plain.children(t, pathOf(name)), 2)
	require.NoError(t, unlock())
	require.NoError(t, has(t, got).unlock())
	require.Equal(t, 1, sent.Count(acquiring))
	require.Equal(t, 2, sent.Count(listing), "once as it came, and once for the waiter between")
}
