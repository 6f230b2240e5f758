package scaletest_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/scaletest"
	"github.com/holdfast-go/holdfast/rlock"
)

// renewals notes when each lock was renewed.
type renewals struct {
	mu sync.Mutex // guards at
	at map[string][]time.Time
}

func (c *renewals) renewed(r rlock.Renewal) {
	if r.Err != nil {
		return // it shows as a gap
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[r.Name] = append(c.at[r.Name], time.Now())
}

// gaps are the times between two renewals of one lock, sorted, and the least number of renewals that a
// lock had.
func (c *renewals) gaps() (gaps []time.Duration, least int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	least = math.MaxInt
	for _, at := range c.at {
		least = min(least, len(at))
		for i := 1; i < len(at); i++ {
			gaps = append(gaps, at[i].Sub(at[i-1]))
		}
	}
	slices.Sort(gaps)
	return gaps, least
}

// Need 5: ten thousand locks on a path that takes 5 ms are all renewed, each in every period, and next to
// none late by half a period: one goroutine's rounds, one call after another, are quick enough. It runs
// alone, since it counts goroutines.
func TestTenThousandLocksAreRenewedInTime(t *testing.T) {
	const (
		locks   = 10_000
		lease   = 9 * time.Second
		period  = lease / 3
		rounds  = 2
		oneWay  = 2500 * time.Microsecond
		allowed = period + period/2
	)
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	proxy.Latency(oneWay)
	clock := &renewals{at: make(map[string][]time.Time)}
	client := newClient(t, proxy.Addr(), rlock.ClientOptions{
		Lease: lease, ReleaseTimeout: time.Minute, Observer: &rlock.Observer{Renewed: clock.renewed},
	})
	goroutines := runtime.NumGoroutine()
	locked := scaletest.NewLocks(client, locks)
	require.NoError(t, locked.Lock())
	time.Sleep(rounds*period + period) // the lapse of time is what is tested
	grown := runtime.NumGoroutine() - goroutines

	gaps, least := clock.gaps()
	require.NotEmpty(t, gaps)
	p99, longest := gaps[len(gaps)*99/100], gaps[len(gaps)-1]
	t.Logf("%d renewals or more of each lock; between two: median %v, p99 %v, longest %v; %d goroutines more",
		least, gaps[len(gaps)/2], p99, longest, grown)
	require.Equal(t, locks, locked.Alive())
	require.GreaterOrEqual(t, least, rounds-1)
	require.Less(t, p99, allowed)
	require.Less(t, grown, 200, "the pool's connections have some each; the locks have none")
	require.NoError(t, locked.Unlock())
}

// Need 5: a hundred thousand holds come and go, some nested, some queued, some given up and some lost,
// and when they are gone all is as before: goroutines, memory, connections, subscriptions. It runs alone,
// because it counts all of these.
func TestCyclesLeaveNothingBehind(t *testing.T) {
	const (
		cycles  = 100_000
		workers = 32
	)
	server := redistest.Start(t)
	c := &lifeCycles{
		client: newClient(t, server.Addr(), rlock.ClientOptions{Lease: time.Minute}), rdb: server.Client(t),
	}
	run := func(n int) {
		errs := make([]error, workers)
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := w; i < n && errs[w] == nil; i += workers {
					errs[w] = c.cycle(i)
				}
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		redistest.Eventually(t, limit, func() bool { return len(server.PubSubChannels(t)) == 0 },
			"channels stay subscribed")
	}
	beside := take(t, t.Context(), rlock.New(c.client, "beside"))
	redistest.Eventually(t, limit, func() bool { return server.Listeners(t) == 1 }, "the client does not listen")
	require.NoError(t, beside.unlock())
	run(cycles / 20) // connections are made, and pools are filled
	goroutines, heap, conns := runtime.NumGoroutine(), scaletest.Heap(), connections(t, server)
	run(cycles)
	redistest.Eventually(t, limit, func() bool { return runtime.NumGoroutine() <= goroutines+10 },
		"goroutines are left")
	grown := scaletest.Heap() - heap
	t.Logf("%d goroutines, then %d; %d bytes more", goroutines, runtime.NumGoroutine(), grown)
	// A timer, a channel or an entry of a table that stays has 100 bytes or more.
	require.Less(t, grown, int64(cycles*20))
	require.LessOrEqual(t, connections(t, server), conns+workers)
	for _, key := range server.Keys(t) {
		require.Contains(t, key, "redisson_lock_token:")
	}
}

// connections is how many connections a server has.
func connections(t *testing.T, server *redistest.Server) int {
	n, err := strconv.Atoi(server.Info(t, "clients")["connected_clients"])
	require.NoError(t, err)
	return n
}

// lifeCycles are holds of one client that come and go.
type lifeCycles struct {
	client *rlock.Client
	rdb    *redis.Client
}

// cycle is one of them; every so often it is one of another kind.
func (c *lifeCycles) cycle(i int) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	kind := i / 32 % 25 // the same for all workers at about one time
	name := "cycle:" + strconv.Itoa(i)
	if kind == 0 {
		name = "crowded"
	}
	lock := rlock.New(c.client, name)
	err := lock.Do(ctx, func(ctx context.Context) error {
		switch kind {
		case 1:
			return lock.Do(ctx, func(context.Context) error { return nil })
		case 2:
			cancel()
		case 3:
			return c.rdb.Del(ctx, name).Err()
		}
		return nil
	})
	if kind == 3 && errors.Is(err, rlock.ErrLost) {
		return nil
	}
	return err
}
