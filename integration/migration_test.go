package integration_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// While a slot is being migrated, every script of several keys that are not all on one node is
// answered with TRYAGAIN, for as long as that takes (interleaving 17; faults.md 0.7). Scripts of one
// key work.
const migrationLease = 1200 * time.Millisecond

// move is a slot in migration from one node to another.
type move struct {
	*redistest.ClusterLab
	slot, from, to int
	tag            string // its names have this hash tag
}

func beginMove(t testing.TB, lab *redistest.ClusterLab, tag string) move {
	t.Helper()
	m := move{ClusterLab: lab, slot: keys.Slot(tag), tag: tag}
	m.from = lab.NodeFor(t, m.slot)
	m.to = (m.from + 1) % lab.Len()
	return m
}

func (m move) name(s string) string { return fmt.Sprintf("{%s}:%s", m.tag, s) }

func (m move) start(t testing.TB)                  { m.SetSlotMigrating(t, m.slot, m.from, m.to) }
func (m move) carry(t testing.TB, names ...string) { m.MoveKeys(t, m.slot, m.from, m.to, names...) }
func (m move) finish(t testing.TB) {
	m.MoveKeys(t, m.slot, m.from, m.to)
	m.FinishSlot(t, m.slot, m.to)
}

// Several holds of one slot, of which some moved and some did not, are renewed for many periods, and
// each can be re-entered and unlocked wherever its key is.
func TestHoldsLiveThroughASlotMigration(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: migrationLease})
	m := beginMove(t, lab, "slot")
	var names []string
	locks, ctxs := make(map[string]*rlock.Lock), make(map[string]context.Context)
	unlocks := make(map[string]func() error)
	for i := range 8 {
		name := m.name(fmt.Sprint("hold", i))
		names = append(names, name)
		locks[name] = rlock.New(client, name)
		ctxs[name], unlocks[name] = held(t, locks[name])
	}
	moved, stayed := names[:4], names[4:]
	m.start(t)
	m.carry(t, moved...)
	events.renewedAgain(t, 4, names...)
	for _, name := range []string{moved[0], stayed[0]} {
		inner, unlock, err := locks[name].Lock(ctxs[name])
		require.NoError(t, err)
		require.Equal(t, 2, alive(t, locks[name], inner).Count)
		require.NoError(t, unlock())
	}
	for _, name := range []string{moved[1], stayed[1]} {
		require.NoError(t, unlocks[name](), "unlocked in the middle of it")
		require.False(t, exists(t, lab.Node(m.from), name) || exists(t, lab.Node(m.to), name))
	}
	m.finish(t)
	rest := []string{moved[0], moved[2], moved[3], stayed[0], stayed[2], stayed[3]}
	events.renewedAgain(t, 4, rest...)
	for _, name := range rest {
		alive(t, locks[name], ctxs[name])
		require.True(t, exists(t, lab.Node(m.to), name))
		require.NoError(t, unlocks[name]())
	}
	require.Empty(t, events.losses())
}

// patientCall is a Lock of a client of its own.
type patientCall struct {
	lock    *rlock.Lock
	came    chan outcome
	refused atomic.Int64 // requests that were answered with TRYAGAIN
}

func (m move) patient(t testing.TB, name string, opts rlock.ClientOptions) *patientCall {
	t.Helper()
	c := &patientCall{came: make(chan outcome, 1)}
	opts.Observer = &rlock.Observer{Command: func(sent rlock.Command) {
		if sent.Err != nil && redis.HasErrorPrefix(sent.Err, "TRYAGAIN") {
			c.refused.Add(1)
		}
	}}
	client, events := newClient(t, m.Client(t), opts)
	t.Cleanup(func() { require.Empty(t, events.losses()) })
	c.lock = rlock.New(client, name)
	go func() {
		ctx, unlock, err := locked(context.Background(), c.lock)
		c.came <- outcome{ctx, unlock, err}
	}()
	redistest.Eventually(t, limit, func() bool { return c.refused.Load() > 0 }, "its request is not refused")
	return c
}

// waits fails the test if the call has returned.
func (c *patientCall) waits(t testing.TB, why string) {
	t.Helper()
	select {
	case o := <-c.came:
		require.FailNow(t, why, "%s: the call returned %v", c.lock.Name(), o.err)
	default:
	}
}

// A free name has no lock key and may have a token key on either side. The server refuses to take it until the slot has
// moved: a Lock waits for that, for a lease at most, which is longer here than the slot takes; a TryLock says that it is
// unavailable, and a call that leaves in the meantime leaves nothing. The tokens are above all earlier ones (G13).
func TestAFreeNameWaitsForASlotMigration(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	opts := rlock.ClientOptions{Lease: 2 * limit, MaxPoll: 300 * time.Millisecond}
	client, events := newClient(t, lab.Client(t), opts)
	other, otherEvents := newClient(t, lab.Client(t), opts)
	m := beginMove(t, lab, "slot")
	names := []string{m.name("fresh"), m.name("moved"), m.name("stayed")}
	fences := make(map[string]int64)
	for _, name := range names[1:] {
		lock := rlock.New(client, name)
		ctx, unlock := held(t, lock)
		fences[name] = alive(t, lock, ctx).Fence
		require.NoError(t, unlock())
	}
	m.start(t)
	m.carry(t, keys.Prefix("redisson_lock_token", names[1]))
	calls := make(map[string][2]*patientCall)
	for _, name := range names {
		here, there := rlock.New(client, name), rlock.New(other, name)
		_, _, err := here.TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrUnavailable, name)
		short, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		_, _, err = there.Lock(short)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		calls[name] = [2]*patientCall{m.patient(t, name, opts), m.patient(t, name, opts)}
	}
	for name, both := range calls {
		for _, c := range both {
			c.waits(t, "nobody has it while the slot migrates")
		}
		require.False(t, exists(t, lab.Node(m.from), name) || exists(t, lab.Node(m.to), name))
	}
	m.finish(t)
	for name, both := range calls {
		first, second := both[0], both[1]
		var o outcome
		select {
		case o = <-first.came:
		case o = <-second.came:
			first, second = second, first
		case <-time.After(limit):
			require.FailNow(t, "nobody gets in after the slot has moved")
		}
		require.NoError(t, o.err)
		second.waits(t, "two have it")
		fence := alive(t, first.lock, o.ctx).Fence
		require.Greater(t, fence, fences[name])
		require.NoError(t, o.unlock())
		o = arrives(t, second.came)
		require.NoError(t, o.err)
		require.Greater(t, alive(t, second.lock, o.ctx).Fence, fence)
		require.NoError(t, o.unlock())
		redistest.Eventually(t, limit, func() bool {
			return !exists(t, lab.Node(m.from), name) && !exists(t, lab.Node(m.to), name)
		}, "nothing is left behind")
	}
	require.Empty(t, events.losses())
	require.Empty(t, otherEvents.losses())
}

// A hold is released while its slot migrates, whether its key has moved or not. Those that wait for it, of this process
// and of others, get the lock by their poll at the latest when the slot has moved, although the server ended their
// subscriptions.
func TestWaitersGetInAfterASlotMigration(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	// A waiter that the cluster refuses for a lease gives up, and a busy machine takes its time to move a slot.
	opts := rlock.ClientOptions{Lease: 10 * migrationLease, MaxPoll: 300 * time.Millisecond}
	client, events := newClient(t, lab.Client(t), opts)
	other, otherEvents := newClient(t, lab.Client(t), opts)
	m := beginMove(t, lab, "slot")
	type contended struct {
		here, there   *rlock.Lock
		unlock        func() error
		fence         int64
		local, remote <-chan outcome
	}
	var all []contended
	for _, carried := range []bool{false, true} {
		name := m.name(fmt.Sprint("contended", carried))
		c := contended{here: rlock.New(client, name), there: rlock.New(other, name)}
		ctx, unlock := held(t, c.here)
		c.unlock, c.fence = unlock, alive(t, c.here, ctx).Fence
		c.local, c.remote = waiting(t, events, c.here), waiting(t, otherEvents, c.there)
		all = append(all, c)
	}
	m.start(t)
	m.carry(t, all[1].here.Name())
	for _, c := range all {
		require.NoError(t, c.unlock())
	}
	var moved []contended
	for _, c := range all { // inside the process the lock passes meanwhile, and outside it does not
		select {
		case o := <-c.local:
			require.NoError(t, o.err)
			hold := alive(t, c.here, o.ctx)
			require.Greater(t, hold.Fence, c.fence)
			c.fence = hold.Fence
			require.NoError(t, o.unlock())
			c.local = nil
		case <-time.After(2 * opts.MaxPoll):
		}
		moved = append(moved, c)
	}
	m.finish(t)
	for _, c := range moved {
		for range 2 { // in either order
			if c.local == nil && c.remote == nil {
				continue
			}
			var o outcome
			lock := c.here
			select {
			case o = <-c.local:
				c.local = nil
			case o = <-c.remote:
				lock, c.remote = c.there, nil
			case <-time.After(limit):
				require.FailNow(t, "no waiter got in")
			}
			require.NoError(t, o.err)
			hold := alive(t, lock, o.ctx)
			require.Greater(t, hold.Fence, c.fence)
			c.fence = hold.Fence
			require.NoError(t, o.unlock())
		}
		require.Nil(t, c.remote)
	}
	require.Empty(t, events.losses())
	require.Empty(t, otherEvents.losses())
}

// A hold changes hands while its slot migrates: whether its key has moved or not, it must not vanish.
func TestAnExportedHoldIsImportedDuringASlotMigration(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: migrationLease})
	other, otherEvents := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: migrationLease})
	m := beginMove(t, lab, "slot")
	names := []string{m.name("stays"), m.name("moved")}
	var ctxs []context.Context
	for _, name := range names {
		ctx, _ := held(t, rlock.New(client, name))
		ctxs = append(ctxs, ctx)
	}
	m.start(t)
	m.carry(t, names[1])
	for i, name := range names {
		here, there := rlock.New(client, name), rlock.New(other, name)
		ctx := ctxs[i]
		fence := alive(t, here, ctx).Fence
		token, err := here.Export(ctx)
		require.NoError(t, err)
		ctx, unlock, err := there.Import(context.Background(), token)
		require.NoError(t, err)
		require.Equal(t, fence, alive(t, there, ctx).Fence)
		otherEvents.renewedAgain(t, 2, name)
		require.NoError(t, unlock())
	}
	require.Empty(t, events.losses())
	require.Empty(t, otherEvents.losses())
}

// A replica must confirm, and the key has already moved: the script is redirected, and WAIT must
// follow it there.
func TestReplicatedHoldsLiveThroughASlotMigration(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	for i := range lab.Len() {
		clusterReplica(t, lab, i)
	}
	client, events := newClient(t, lab.Client(t), rlock.ClientOptions{
		Lease: 2 * migrationLease, MinReplicas: 1,
	})
	m := beginMove(t, lab, "slot")
	lock := rlock.New(client, m.name("moved"))
	ctx, unlock := held(t, lock)
	m.start(t)
	m.carry(t, lock.Name())
	events.renewedAgain(t, 3, lock.Name())
	m.finish(t)
	require.NoError(t, rlock.New(client, m.name("free")).Do(within(t),
		func(context.Context) error { return nil }))
	events.renewedAgain(t, 2, lock.Name())
	alive(t, lock, ctx)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
}

// clusterReplica gives a node of the cluster a replica.
func clusterReplica(t testing.TB, lab *redistest.ClusterLab, of int, opts ...redistest.Option) {
	t.Helper()
	ctx := context.Background()
	replica := redistest.Start(t, append(opts, redistest.WithArgs("--cluster-enabled", "yes",
		"--cluster-node-timeout", "5000"))...)
	rdb, primary := replica.Client(t), lab.Node(of).Client(t)
	id, err := primary.Do(ctx, "cluster", "myid").Text()
	require.NoError(t, err)
	require.NoError(t, rdb.ClusterMeet(ctx, lab.Node(of).Host(), fmt.Sprint(lab.Node(of).Port())).Err())
	redistest.Eventually(t, limit, func() bool {
		return rdb.ClusterReplicate(ctx, id).Err() == nil
	}, "the node did not become a replica")
	redistest.Eventually(t, limit, func() bool {
		return replica.Info(t, "replication")["master_link_status"] == "up"
	}, "the replica did not catch up")
	confirming(t, lab.Node(of), tagged(t, lab, of, "probe"))
}
