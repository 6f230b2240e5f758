package integration_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// crowd is the cost of the turns of many waiters.
type crowd struct{ turns, acquire, release int }

func (c crowd) perTurn() float64 { return float64(c.acquire+c.release) / float64(c.turns) }

// crowdTurns makes waiters callers of each of some clients wait for one lock, then lets them in, and counts the
// scripts that ran from the first unlock on.
func crowdTurns(t *testing.T, clients, waiters int) crowd {
	t.Helper()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	// Nothing is renewed or looked at meanwhile, however slow the machine is.
	opts := rlock.ClientOptions{Lease: time.Hour, MaxPoll: never}
	holder, _ := newClient(t, server.Client(t), opts)
	_, unlock := held(t, rlock.New(holder, "crowded"))
	var all errgroup.Group
	for range clients {
		rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		client, events := newClient(t, rdb, opts)
		lock := rlock.New(client, "crowded")
		for range waiters {
			all.Go(func() error { return lock.Do(within(t), func(context.Context) error { return nil }) })
		}
		redistest.Eventually(t, limit, func() bool { return events.waits() == waiters }, "not all wait")
	}
	subscribed(t, server, "crowded")
	count := func(script string) int { return proxy.Requests(faultproxy.Script(luacall.SHA(script))) }
	before := crowd{0, count("acquire"), count("release")}
	require.NoError(t, unlock())
	require.NoError(t, all.Wait())
	c := crowd{
		clients * waiters, count("acquire") - before.acquire, count("release") - before.release,
	}
	t.Logf("%d clients with %d waiters each: %+v, %.2f scripts a turn", clients, waiters, c, c.perTurn())
	return c
}

// ran checks that scripts end only runs: of eight turns at least, except the last of each client and except what is
// sent twice because the server does not know it yet.
func (c crowd) ran(t *testing.T, clients int) {
	t.Helper()
	require.GreaterOrEqual(t, c.release, clients, "each client lets go: %+v", c)
	require.LessOrEqual(t, c.release, c.turns/8+3*clients, "%+v", c)
	releases := c.release + 1 // and the holder's
	// A grant to come after a run may be looked for twice, too.
	require.LessOrEqual(t, c.acquire, 3*clients*releases, "a release wakes one waiter of each process: %+v", c)
}

// Need 22: what a turn costs Redis does not grow with the number of waiters of a process: they pass the lock among
// themselves, and now and then there is a release, an attempt before it is heard of, and one after.
func TestATurnCostsNoMoreWithTwoHundredWaiters(t *testing.T) {
	t.Parallel()
	few, many := crowdTurns(t, 1, 10), crowdTurns(t, 1, 200)
	require.LessOrEqual(t, many.perTurn(), 0.5)
	require.LessOrEqual(t, many.perTurn(), few.perTurn()+0.2)
}

// Need 22: nor does a release wake a herd: of each waiting process only the first waiter asks, once when it is told
// and once more if it was asking when it was told.
func TestAReleaseWakesOneWaiterOfEachProcess(t *testing.T) {
	t.Parallel()
	const clients = 4
	crowdTurns(t, clients, 50).ran(t, clients)
}

// One processor, and goroutines that never yield it: renewals are late, but not so late that a hold is lost, and no
// two holders are inside together.
//
// It is not parallel, so that no other test loses its processor.
func TestABusyProcessorCostsNoHold(t *testing.T) {
	server := redistest.Start(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: 6 * time.Second})
	kept := rlock.New(client, "kept")
	ctx, unlock := held(t, kept)
	var stop atomic.Bool
	var spinners sync.WaitGroup
	defer spinners.Wait()
	defer stop.Store(true)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 4 {
		spinners.Go(func() {
			for !stop.Load() {
			}
		})
	}
	bustle(t, server.Client(t), 6*time.Second, "starved", 2)
	events.renewedAgain(t, 2, kept.Name())
	alive(t, kept, ctx)
	require.NoError(t, unlock())
	require.Empty(t, events.losses())
}

// The server disconnects a subscriber that cannot keep up with what others publish, again and again. A waiter then
// subscribes again, and gets the lock without a poll.
func TestASubscriberThrownOutForBeingSlowIsStillWoken(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--client-output-buffer-limit", "pubsub 16kb 0 0"))
	admin := server.Client(t)
	client, events := newClient(t, server.Client(t), rlock.ClientOptions{MaxPoll: never})
	holder, _ := newClient(t, server.Client(t), rlock.ClientOptions{})
	lock := rlock.New(client, "slow")
	flood := make([]byte, 1<<20) // more than the limit: it cannot be delivered
	for range 5 {
		_, unlock := held(t, rlock.New(holder, lock.Name()))
		waiter := waiting(t, events, lock)
		subscribed(t, server, lock.Name())
		before := server.Calls(t, "subscribe")
		heard, err := admin.Publish(context.Background(), "redisson_lock__channel:{slow}", flood).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, heard)
		redistest.Eventually(t, limit, func() bool { return server.Calls(t, "subscribe") > before },
			"it does not listen again")
		require.NoError(t, unlock())
		require.NoError(t, arrives(t, waiter).unlock())
	}
	require.Empty(t, events.losses())
}
