package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// While a slot is being migrated a fair lock is renewed, re-entered and released key by key, whichever of its keys have
// moved. When the slot has arrived its waiters get in, without those that left meanwhile, and each hold has a greater
// token than the last.
func TestFairLockDuringASlotMigration(t *testing.T) {
	t.Parallel()
	for name, carried := range map[string][]string{
		"nothing moved yet":  nil,
		"the lock moved":     {"lock"},
		"the queue moved":    {"queue", "alive"},
		"the token moved":    {"token", "state"},
		"all of it is there": {"lock", "queue", "alive", "state", "token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := redistest.Cluster(t, 2)
			opts := rlock.ClientOptions{Lease: migrationLease, MaxPoll: 200 * time.Millisecond}
			a, events := newClient(t, lab.Client(t), opts)
			opts.Lease = 0 // a waiter gives up when it was refused for a whole lease, as it is while the slot is migrated
			b, _ := newClient(t, lab.Client(t), opts)
			m := beginMove(t, lab, "slot")
			key := m.name("fair")
			all := map[string]string{
				"lock": key, "token": keys.Prefix("redisson_lock_token", key), "queue": keys.Own("fair_queue", key),
				"alive": keys.Own("fair_alive", key), "state": keys.Own("fair_state", key),
			}
			lock := fairlock.New(a, key)
			ctx, unlock := held(t, lock)
			before := alive(t, lock, ctx).Fence
			ended, left := fairWait(t, b, key, true), fairWait(t, b, key, false)

			m.start(t)
			for _, what := range carried {
				if exists(t, lab.Node(m.from), all[what]) {
					m.carry(t, all[what])
				}
			}
			events.renewedAgain(t, 3, key)
			inner, leave, err := lock.Lock(ctx)
			require.NoError(t, err)
			require.Equal(t, 2, alive(t, lock, inner).Count)
			require.NoError(t, leave())
			left.cancel()
			require.ErrorIs(t, left.result(t), context.Canceled)
			require.NoError(t, unlock())
			m.finish(t)
			require.NoError(t, ended.result(t))
			require.Greater(t, ended.fence, before)

			_, unlock = held(t, lock)
			next := fairWait(t, b, key, true)
			require.NoError(t, unlock())
			require.NoError(t, next.result(t))
			redistest.Eventually(t, limit, func() bool {
				for what, k := range all {
					if what != "token" && exists(t, lab.Node(m.to), k) {
						return false
					}
				}
				return true
			}, "something is left")
		})
	}
}

// fairCall is a Lock of a fair lock that waits.
type fairCall struct {
	cancel context.CancelFunc
	done   chan error
	fence  int64
}

// fairWait starts a Lock, and returns when it has its place in the queue. It is unlocked at once.
func fairWait(t *testing.T, client *rlock.Client, name string, first bool) *fairCall {
	t.Helper()
	lock := fairlock.New(client, name)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c := &fairCall{cancel: cancel, done: make(chan error, 1)}
	go func() {
		c.done <- lock.Do(ctx, func(ctx context.Context) error {
			hold, err := lock.Held(ctx)
			c.fence = hold.Fence
			return err
		})
	}()
	want := 2
	if first {
		want = 1
	}
	redistest.Eventually(t, limit, func() bool {
		info, err := lock.Inspect(context.Background())
		return err == nil && info.Waiters == want
	}, fmt.Sprintf("it does not wait as number %d", want))
	return c
}

func (c *fairCall) result(t *testing.T) error {
	t.Helper()
	return redistest.Receive(t, limit, c.done, "the call does not return")
}
