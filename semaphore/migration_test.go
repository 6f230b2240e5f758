package semaphore_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// moving is a slot on its way from one node of a cluster to the other.
type moving struct {
	*redistest.ClusterLab
	slot, from, to int
	client         *rlock.Client
	renewals       atomic.Int64
}

func newMoving(t *testing.T, tag string) *moving {
	t.Helper()
	m := &moving{ClusterLab: redistest.Cluster(t, 2), slot: keys.Slot(tag)}
	m.from = m.NodeFor(t, m.slot)
	m.to = 1 - m.from
	var err error
	m.client, err = rlock.NewClient(m.Client(t), &rlock.ClientOptions{
		Lease: labLease, MaxPoll: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Observer: &rlock.Observer{Renewed: func(r rlock.Renewal) {
			if r.Err == nil {
				m.renewals.Add(1)
			}
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.client.Close()) })
	return m
}

func (m *moving) start(t *testing.T) { m.SetSlotMigrating(t, m.slot, m.from, m.to) }

func (m *moving) finish(t *testing.T) {
	m.MoveKeys(t, m.slot, m.from, m.to)
	m.FinishSlot(t, m.slot, m.to)
}

// renewed waits until more renewals were confirmed.
func (m *moving) renewed(t *testing.T, more int64) {
	t.Helper()
	until := m.renewals.Load() + more
	redistest.Eventually(t, patience, func() bool { return m.renewals.Load() >= until }, "it is renewed")
}

// Interleaving 17: held permits live through the migration of their slot, wherever their keys are at the
// time, and are released in the middle of it.
func TestPermitsLiveThroughASlotMigration(t *testing.T) {
	t.Parallel()
	m := newMoving(t, "slot")
	name := "{slot}:held"
	s := semaphore.New(m.client, name)
	require.NoError(t, s.SetCapacity(t.Context(), 5))
	held, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	m.start(t)
	m.renewed(t, 2)
	_, here, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err, "both keys are at the source")
	m.MoveKeys(t, m.slot, m.from, m.to, name+":timeout")
	m.renewed(t, 4) // for longer than a lease
	require.NoError(t, held.Err())
	_, _, err = s.TryAcquire(t.Context(), 1)
	require.ErrorIs(t, err, rlock.ErrUnavailable, "the keys are at two nodes")
	m.MoveKeys(t, m.slot, m.from, m.to, name)
	m.renewed(t, 4)
	_, there, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err, "both keys are at the target")
	for _, release := range []func() error{here, there} {
		require.NoError(t, release())
	}
	m.finish(t)
	m.renewed(t, 4)
	require.NoError(t, held.Err())
	require.NoError(t, release())
	free, err := m.Client(t).Get(t.Context(), name).Int64()
	require.NoError(t, err)
	require.Equal(t, int64(5), free)
}

// Defect E2: a call that needs a key that does not exist waits until the migration is over, and takes effect once.
func TestWhatASlotMigrationHoldsUp(t *testing.T) {
	t.Parallel()
	m := newMoving(t, "slot")
	idle := semaphore.New(m.client, "{slot}:idle")
	require.NoError(t, idle.SetCapacity(t.Context(), 1))
	counting := semaphore.NewCounting(m.client, "{slot}:counting")
	require.NoError(t, counting.Set(t.Context(), 1))
	m.start(t)
	available, err := counting.Available(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), available)
	info, err := idle.Inspect(t.Context())
	require.NoError(t, err, "it looks at one key")
	require.Empty(t, info.Holders)

	// The number is at the other node, the remembered requests are not.
	m.MoveKeys(t, m.slot, m.from, m.to, "{slot}:counting")
	results := make(chan error, 3)
	go func() { results <- idle.Do(context.Background(), 1, func(context.Context) error { return nil }) }()
	go func() { results <- counting.Acquire(context.Background(), 1) }()
	go func() { results <- counting.Release(context.Background(), 5) }()
	m.asked(t, 6)
	nothingYet(t, results, "a script of two keys cannot run")
	m.finish(t)
	for range cap(results) {
		require.NoError(t, arrives(t, results, "it goes on"))
	}
	left, err := m.Client(t).Get(t.Context(), "{slot}:counting").Int64()
	require.NoError(t, err)
	require.Equal(t, int64(5), left, "of 1, with 1 taken and 5 added")
}

// asked waits until the source has refused so many scripts more.
func (m *moving) asked(t *testing.T, more int) {
	t.Helper()
	refused := func() (n int) { // Redis 6.2 does not count them by their names
		stats := m.Node(m.from).Info(t, "commandstats")["cmdstat_evalsha"]
		if _, rejected, ok := strings.Cut(stats, "rejected_calls="); ok {
			_, err := fmt.Sscanf(rejected, "%d", &n)
			require.NoError(t, err)
		}
		return n
	}
	until := refused() + more
	redistest.Eventually(t, patience, func() bool { return refused() >= until }, "they try again")
}
