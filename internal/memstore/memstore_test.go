package memstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/conformance/numbers"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// Numbers that nobody holds are counted and waited for without Redis, below zero too (defect G61).
func TestNumbers(t *testing.T) {
	t.Parallel()
	numbers.RunVirtually(t, func(t testing.TB) (clients numbers.Clients) {
		server := memstore.NewServer(nil)
		t.Cleanup(server.Close)
		for i := range clients {
			clients[i], _ = open(t, server, i, i == 0, time.Minute)
		}
		return clients
	})
}

// handle makes a handle on a lock. Keeper is a client that stays open.
type handle func(client, keeper *rlock.Client, name string, opts ...rlock.Option) conformance.Lock

func readSide(client, _ *rlock.Client, name string, opts ...rlock.Option) conformance.Lock {
	return rwlock.New(client, name, opts...).Read()
}

func writeSide(client, _ *rlock.Client, name string, opts ...rlock.Option) conformance.Lock {
	return rwlock.New(client, name, opts...).Write()
}

// permit is the only one of a semaphore.
func permit(client, keeper *rlock.Client, name string, opts ...rlock.Option) conformance.Lock {
	if err := semaphore.New(keeper, name).SetCapacity(context.Background(), 1); err != nil {
		panic(err)
	}
	return numbers.Permit{Semaphore: semaphore.New(client, name, opts...)}
}

func reentrant(client, _ *rlock.Client, name string, opts ...rlock.Option) conformance.Lock {
	return rlock.New(client, name, opts...)
}

func fair(client, _ *rlock.Client, name string, opts ...rlock.Option) conformance.Lock {
	return fairlock.New(client, name, opts...)
}

// Each kind of lock keeps its contract without Redis. Of readers, whom the first client has, the second one's writers
// find out. Terms of leaders nest (defect G63).
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, direct := range map[string]bool{"direct": true, "in goroutines": false} {
		t.Run(name, func(t *testing.T) {
			t.Run("reentrant", func(t *testing.T) { conform(t, direct, [2]handle{reentrant, reentrant}, 0) })
			t.Run("fair", func(t *testing.T) {
				conform(t, direct, [2]handle{fair, fair}, conformance.MinHolds|conformance.Keeping)
			})
			t.Run("write", func(t *testing.T) {
				conform(t, direct, [2]handle{writeSide, writeSide}, conformance.MinHolds|conformance.Notes|conformance.Keeping)
			})
			t.Run("permit", func(t *testing.T) { conform(t, direct, [2]handle{permit, permit}, numbers.PermitLacks) })
			t.Run("read", func(t *testing.T) {
				conform(t, direct, [2]handle{readSide, writeSide},
					conformance.Exclusion|conformance.Fencing|conformance.MinHolds|conformance.Notes|conformance.Keeping)
			})
		})
	}
}

func conform(t *testing.T, direct bool, handles [2]handle, lacks conformance.Lacks) {
	t.Parallel()
	conformance.RunVirtually(t, func(t testing.TB, lease time.Duration) conformance.Lab {
		server := memstore.NewServer(nil)
		t.Cleanup(server.Close)
		var clients [2]*rlock.Client
		var stores [2]*memstore.Store
		var listeners [2]conformance.Listener
		for i := range clients {
			clients[i], stores[i] = openTo(t, &listeners[i], server, i, direct, lease)
		}
		keeper, _ := open(t, server, len(clients), true, lease)
		rivals := make(map[string]func(client int, name string) conformance.Lock)
		for kind, make := range map[string]handle{
			"a reentrant lock": reentrant, "a fair lock": fair, "a writer": writeSide, "a reader": readSide,
		} {
			rivals[kind] = func(client int, name string) conformance.Lock { return make(clients[client], keeper, name) }
		}
		return conformance.Lab{
			Lock: func(client int, name string, opts ...rlock.Option) conformance.Lock {
				return handles[client](clients[client], keeper, name, opts...)
			},
			Close:    func(client int) error { return clients[client].Close() },
			Sent:     func() int64 { return stores[0].Sent() + stores[1].Sent() },
			Listener: func(client int) *conformance.Listener { return &listeners[client] },
			Stats:    func(client int) rlock.Stats { return clients[client].Stats() },
			Erase:    server.Forget, Rivals: rivals,
			Lease: lease, Lacks: lacks | conformance.Faults,
		}
	})
}

func open(
	t testing.TB, server *memstore.Server, number int, direct bool, lease time.Duration,
) (*rlock.Client, *memstore.Store) {
	return openTo(t, new(conformance.Listener), server, number, direct, lease)
}

func openTo(
	t testing.TB, to *conformance.Listener, server *memstore.Server, number int, direct bool, lease time.Duration,
) (*rlock.Client, *memstore.Store) {
	st := server.Store(number, direct)
	options, err := redisclient.Options{Lease: lease, Logger: to.Logger(), Observer: to.Observer()}.Checked()
	require.NoError(t, err)
	made, err := redisclient.On(options, redisclient.ByRules(st), false)
	require.NoError(t, err)
	client := (*rlock.Client)(made)
	t.Cleanup(func() { _ = client.Close() })
	return client, st
}

// A lock is retained for MinHold and no longer, though the server's clock was set back by an hour after it was taken,
// also if it was handed to another process in between (defect G56).
func TestMinHoldEndsThoughTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	const minHold = 2 * time.Second
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(nil)
		defer server.Close()
		one, _ := open(t, server, 0, true, 30*time.Second)
		other, _ := open(t, server, 1, true, 30*time.Second)
		for _, exports := range []bool{false, true} {
			held, unlock, err := rlock.New(one, "a", rlock.MinHold(minHold)).Lock(t.Context())
			require.NoError(t, err)
			if exports {
				token, err := rlock.New(one, "a").Export(held)
				require.NoError(t, err)
				_, unlock, err = rlock.New(other, "a").Import(t.Context(), token)
				require.NoError(t, err)
			}
			server.SetBack(time.Hour)
			require.NoError(t, unlock())
			at := time.Now()
			_, unlock, err = rlock.New(other, "a").Lock(t.Context())
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(at), minHold+time.Second, "exported: %v", exports)
			require.NoError(t, unlock())
		}
		require.NoError(t, errors.Join(one.Close(), other.Close()))
	})
}

// The lock of a process that has died is free when its lease is over, though the server's clock was set back after the
// process had taken it, to before that: when a lock is committed does not depend on that clock.
func TestALeaseEndsThoughTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lease = 3 * time.Second
		network := new(silenced)
		server := memstore.NewServer(network)
		defer server.Close()
		holder, _ := open(t, server, 0, true, lease)
		waiter, _ := open(t, server, 1, true, lease)
		_, _, err := rlock.New(holder, "a").Lock(t.Context())
		require.NoError(t, err)
		server.SetBack(time.Hour)
		time.Sleep(2 * lease)
		network.dead.Store(true)
		limited, cancel := context.WithTimeout(t.Context(), 2*lease)
		defer cancel()
		_, unlock, err := rlock.New(waiter, "a").Lock(limited)
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.NoError(t, waiter.Close())
		require.NoError(t, holder.Close())
	})
}
