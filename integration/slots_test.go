package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// Defect B4: every primitive, several names at a time, by an ordinary client on a server that wants the keys of a
// script in one slot: a cluster of one node, by its address. Holds outlive their leases, and all are released.
func TestEveryPrimitiveWhereSlotsAreEnforced(t *testing.T) {
	t.Parallel()
	everyPrimitive(t, redistest.Cluster(t, 1).Node(0).Addr())
}

// The same on a proxy that refuses scripts in whose text a key is anything but a literal KEYS[n].
func TestEveryPrimitiveWhereKeysMustBeLiteral(t *testing.T) {
	t.Parallel()
	forbidden := make(map[string]bool)
	for _, name := range []string{
		"acquire_all", "acquire_many", "release_many", "renew", "permit_renew", "permit_renew_expiring", "rw_write_renew",
		"rw_read_renew",
	} {
		forbidden[luacall.SHA(name)] = true
	}
	proxy := faultproxy.Start(t, redistest.Start(t).Addr())
	refused := proxy.On(func(r faultproxy.Request) bool { return forbidden[r.SHA()] },
		faultproxy.AnswerError("ERR bad lua script for redis cluster, all the keys that the script uses should be "+
			"passed using the KEYS array")).Times(-1)
	everyPrimitive(t, proxy.Addr())
	require.Positive(t, refused.Fired())
}

func everyPrimitive(t *testing.T, addr string) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	client, events := newClient(t, rdb, rlock.ClientOptions{Lease: 3 * time.Second})
	const each = 5
	var contexts []context.Context
	var unlocks []func() error
	var names []string
	keep := func(name string, ctx context.Context, unlock func() error, err error) {
		require.NoError(t, err, name)
		contexts, unlocks, names = append(contexts, ctx), append(unlocks, unlock), append(names, name)
	}
	for i := range each {
		for kind, lock := range map[string]*rlock.Lock{
			"plain": rlock.New(client, fmt.Sprint("plain:", i)),
			"fair":  fairlock.New(client, fmt.Sprint("fair:", i)),
			"read":  rwlock.New(client, fmt.Sprint("read:", i)).Read(),
			"write": rwlock.New(client, fmt.Sprint("write:", i)).Write(),
		} {
			ctx, unlock, err := locked(t.Context(), lock)
			keep(fmt.Sprint(kind, ":", i), ctx, unlock, err)
		}
		name := fmt.Sprint("permits:", i)
		permits := semaphore.New(client, name)
		require.NoError(t, permits.SetCapacity(within(t), 3))
		ctx, release, err := permits.Acquire(t.Context(), 2)
		keep(name, ctx, release, err)
	}
	events.renewedAgain(t, 4, names...)
	for i, ctx := range contexts {
		require.NoError(t, context.Cause(ctx), names[i])
	}
	var numbers errgroup.Group
	for i := range each {
		numbers.Go(func() error {
			counting := semaphore.NewCounting(client, fmt.Sprint("counting:", i))
			gate := latch.New(client, fmt.Sprint("latch:", i))
			return errors.Join(
				counting.Set(within(t), 1), counting.Acquire(within(t), 1), counting.Release(within(t), 1),
				gate.Set(within(t), 1), gate.CountDown(within(t)), gate.Wait(within(t)))
		})
	}
	require.NoError(t, numbers.Wait())
	all := multilock.New([]*rlock.Lock{rlock.New(client, "m:1"), rlock.New(client, "m:2")})
	require.NoError(t, all.Do(within(t), func(context.Context) error { return nil }))
	for i, unlock := range unlocks {
		require.NoError(t, unlock(), names[i])
	}
	require.Empty(t, events.losses())
}
