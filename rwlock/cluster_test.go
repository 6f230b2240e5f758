package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

const movingLease = 1200 * time.Millisecond

// moving is a slot of a cluster, on its way from one node to the other.
type moving struct {
	*testing.T
	cluster        *redistest.ClusterLab
	slot, from, to int
	a, b           *peer
}

func newMoving(t *testing.T, cluster *redistest.ClusterLab, tag string) *moving {
	t.Helper()
	m := &moving{T: t, cluster: cluster, slot: keys.Slot(tag)}
	m.from = cluster.NodeFor(t, m.slot)
	m.to = 1 - m.from
	l := &lab{T: t, server: cluster.Node(m.from), rdb: cluster.Node(m.from).Client(t), name: "{" + tag + "}:x"}
	opts := rlock.ClientOptions{Lease: movingLease, MaxPoll: 200 * time.Millisecond}
	m.a = l.peerOver(cluster.Client(t), opts)
	opts.Lease *= 10 // for so long its waiters put up with a server that refuses
	m.b = l.peerOver(cluster.Client(t), opts)
	return m
}

func (m *moving) begin() { m.Helper(); m.cluster.SetSlotMigrating(m, m.slot, m.from, m.to) }
func (m *moving) carry(keys ...string) {
	m.Helper()
	m.cluster.MoveKeys(m, m.slot, m.from, m.to, keys...)
}

func (m *moving) finish() {
	m.Helper()
	m.carry()
	m.cluster.FinishSlot(m, m.slot, m.to)
}

// apart are the ways in which a reader's keys can lie on two nodes.
func apart(name, id string) map[string][]string {
	hold := name + ":" + id + ":rwlock_timeout:1"
	return map[string][]string{"the hash moved": {name}, "the hold key moved": {hold}, "both moved": {name, hold}}
}

// Interleaving 17: while a slot moves, scripts of several keys are refused for as long as it lasts. Holds of
// both sides are renewed, entered, left and released all the same, wherever their keys are.
func TestReadHoldsLiveThroughASlotMigration(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"the hash moved", "the hold key moved", "both moved"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := newMoving(t, redistest.Cluster(t, 2), "slot")
			a := m.a
			first := a.read()
			gone := a.read()
			m.begin()
			m.carry(apart(a.name, first.known(t).ID)[how]...)
			a.renewals(10)
			a.take(a.Read(), first.ctx).frees(t)
			gone.frees(t)
			_, _, err := m.b.Write().TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			a.renewals(8)
			first.known(t)
			m.finish()
			a.renewals(4)
			first.frees(t)
			m.b.write().frees(t)
			require.Empty(t, a.lost)
		})
	}
}

func TestWriteHoldsLiveThroughASlotMigration(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.Cluster(t, 2), "slot")
	a, b := m.a, m.b
	w := a.write()
	r := a.take(a.Read(), context.WithoutCancel(w.ctx))
	m.begin()
	a.renewals(8)
	m.carry(a.name)
	a.renewals(8)
	inner := a.take(a.Write(), w.ctx)
	inner.frees(t)
	for _, side := range []*rlock.Lock{b.Read(), b.Write()} {
		_, _, err := side.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
	}
	w.frees(t)
	m.finish()
	b.busy(b.Write())
	b.read().frees(t)
	a.renewals(4)
	r.frees(t)
	b.write().frees(t)
	require.Empty(t, a.lost)
}

func (m *moving) arrives(c <-chan hold) hold { m.Helper(); return m.a.arrives(c) }

// The node that gets a slot takes what did not come yet for absent: a reader whose hold key is still on its way
// must not be taken for dead, though everything that a writer's attempt names is there.
func TestAReaderOnItsWayIsNotDead(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.Cluster(t, 2), "slot")
	a, b := m.a, m.b
	a.write().frees(t) // which leaves a token
	first, second := a.read(), a.read()
	writer := b.wait(b.Write())
	a.gated()
	m.begin()
	m.carry("redisson_lock_token:"+a.name, a.name, a.gate())
	a.renewals(2 * 9)
	require.Empty(t, writer, "a writer came in beside readers")
	second.frees(t) // and this does not look like the last one
	a.renewals(9)
	require.Empty(t, writer, "a writer came in beside a reader")
	m.finish()
	first.frees(t)
	m.arrives(writer).frees(t)
}

// A name that nobody holds can be taken by either side when its slot has moved, and tokens go on growing. A hold that
// lived through the migration is released in the middle of it, and its waiters get in afterwards.
func TestAFreeNameWaitsForASlotMigration(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.Cluster(t, 2), "slot")
	a, b := m.a, m.b
	first := a.write()
	last := first.known(t).Fence
	reader, writer := b.wait(b.Read()), b.wait(b.Write())
	m.begin()
	m.carry("redisson_lock_token:" + a.name)
	first.frees(t)
	for _, side := range []*rlock.Lock{a.Read(), a.Write()} {
		_, _, err := side.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
	}
	for _, side := range []*rlock.Lock{b.Read(), b.Write()} {
		_, _, err := side.TryLock(t.Context())
		require.True(t, errors.Is(err, rlock.ErrUnavailable) || errors.Is(err, rlock.ErrBusy), // behind its own waiter
			"%v", err)
	}
	require.Empty(t, reader, "nobody has it while the slot migrates")
	require.Empty(t, writer, "nobody has it while the slot migrates")
	m.finish()
	m.arrives(reader).frees(t)
	w := m.arrives(writer)
	require.Greater(t, w.known(t).Fence, last)
	last = w.known(t).Fence
	w.frees(t)
	w = b.write()
	require.Greater(t, w.known(t).Fence, last)
	last = w.known(t).Fence
	r := b.take(b.Read(), context.WithoutCancel(w.ctx))
	w.frees(t)
	other := a.read()
	require.Equal(t, last, r.known(t).Fence)
	require.Equal(t, last, other.known(t).Fence)
	r.frees(t)
	b.busy(b.Write())
	other.frees(t)
}

// On a cluster everything of a name has to lie in one slot, and names for which it would not are refused.
func TestNamesOfTwoSlotsAreRefusedOnACluster(t *testing.T) {
	t.Parallel()
	m := newMoving(t, redistest.Cluster(t, 2), "slot")
	for _, name := range []string{"a{b", "{}z", "foo}bar"} {
		lock := rwlock.New(m.a.client, name)
		for _, side := range []*rlock.Lock{lock.Read(), lock.Write()} {
			_, _, err := side.TryLock(t.Context())
			require.ErrorAs(t, err, new(*rlock.ArgumentError), name)
		}
	}
	for _, name := range []string{"plain", "a{b}c", "{t}:k"} {
		lock := rwlock.New(m.a.client, name)
		w := m.a.take(lock.Write(), context.Background())
		r := m.a.take(lock.Read(), context.WithoutCancel(w.ctx))
		w.frees(t)
		r.frees(t)
	}
}
