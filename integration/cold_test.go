package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// turn takes something once and gives it back; it calls came when it has it.
type turn func(ctx context.Context, came func()) error

// coldKind is a primitive at its first use. Setup is called once for each name, by a client of its own; client makes
// a process's part; start, if set, is called when all are about to wait.
type coldKind struct {
	name   string
	setup  func(ctx context.Context, client *rlock.Client, name string) error
	client func(client *rlock.Client, name string) turn
	start  func(ctx context.Context, client *rlock.Client, name string) error
}

func turnOf(make func(client *rlock.Client, name string) rlock.Locker) func(*rlock.Client, string) turn {
	return func(client *rlock.Client, name string) turn {
		lock := make(client, name)
		return func(ctx context.Context, came func()) error {
			return lock.Do(ctx, func(context.Context) error { came(); return nil })
		}
	}
}

var coldKinds = []coldKind{
	{name: "rlock", client: turnOf(func(c *rlock.Client, n string) rlock.Locker { return rlock.New(c, n) })},
	{name: "rwlock read", client: turnOf(func(c *rlock.Client, n string) rlock.Locker { return rwlock.New(c, n).Read() })},
	{name: "rwlock write", client: turnOf(func(c *rlock.Client, n string) rlock.Locker { return rwlock.New(c, n).Write() })},
	{name: "fairlock", client: turnOf(func(c *rlock.Client, n string) rlock.Locker { return fairlock.New(c, n) })},
	{name: "multilock", client: turnOf(func(c *rlock.Client, n string) rlock.Locker {
		return multilock.New([]*rlock.Lock{rlock.New(c, n+":a"), rlock.New(c, n+":b")})
	})},
	{
		name: "semaphore",
		setup: func(ctx context.Context, c *rlock.Client, n string) error {
			return semaphore.New(c, n).SetCapacity(ctx, 1)
		},
		client: func(c *rlock.Client, n string) turn {
			permits := semaphore.New(c, n)
			return func(ctx context.Context, came func()) error {
				return permits.Do(ctx, 1, func(context.Context) error { came(); return nil })
			}
		},
	},
	{
		name: "counting",
		setup: func(ctx context.Context, c *rlock.Client, n string) error {
			return semaphore.NewCounting(c, n).Set(ctx, 1)
		},
		client: func(c *rlock.Client, n string) turn {
			permits := semaphore.NewCounting(c, n)
			return func(ctx context.Context, came func()) error {
				if err := permits.Acquire(ctx, 1); err != nil {
					return err
				}
				came()
				return permits.Release(ctx, 1)
			}
		},
	},
	{
		name:  "latch",
		setup: func(ctx context.Context, c *rlock.Client, n string) error { return latch.New(c, n).Set(ctx, 1) },
		client: func(c *rlock.Client, n string) turn {
			open := latch.New(c, n)
			return func(ctx context.Context, came func()) error {
				err := open.Wait(ctx)
				came()
				return err
			}
		},
		start: func(ctx context.Context, c *rlock.Client, n string) error { return latch.New(c, n).CountDown(ctx) },
	},
}

// arrivals records the longest time between two arrivals.
type arrivals struct {
	mu      sync.Mutex // guards all below
	last    time.Time
	longest time.Duration
	count   int
}

func (a *arrivals) came() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.longest, a.last = max(a.longest, now.Sub(a.last)), now
	a.count++
}

// everybody takes each turn once on that many goroutines, all at once, and returns the longest time without an
// arrival.
func everybody(t *testing.T, ctx context.Context, turns []turn, goroutines int, start func()) time.Duration {
	t.Helper()
	a := arrivals{last: time.Now()}
	var done sync.WaitGroup
	for _, take := range turns {
		for range goroutines {
			done.Go(func() { assert.NoError(t, take(ctx, a.came)) })
		}
	}
	start()
	done.Wait()
	require.Equal(t, len(turns)*goroutines, a.count)
	return a.longest
}

// The first turns of fresh names and fresh clients come by a message or within the process. No waiter needs a poll,
// which is an hour, or the end of a lease, which is another (defect B1). The fair lock has intervals of its own, of
// two seconds and more, which its package's test checks exactly. The table prints the longest time without an
// arrival. The test only requires that it is nowhere near the poll: a longer wait means a missed wake-up.
func TestFirstTurnsOutOfTheCold(t *testing.T) {
	server := redistest.Start(t)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(w, "clients x goroutines\t")
	for _, kind := range coldKinds {
		_, _ = fmt.Fprint(w, kind.name, "\t")
	}
	_, _ = fmt.Fprintln(w)
	for _, clients := range []int{1, 2, 8} {
		for _, goroutines := range []int{2, 8, 64} {
			_, _ = fmt.Fprintf(w, "%d x %d\t", clients, goroutines)
			for _, kind := range coldKinds {
				t.Run(fmt.Sprintf("%s, %d clients of %d", kind.name, clients, goroutines), func(t *testing.T) {
					_, _ = fmt.Fprintf(w, "%.1f ms\t", cold(t, server, kind, clients, goroutines).Seconds()*1000)
				})
			}
			_, _ = fmt.Fprintln(w)
		}
	}
	_ = w.Flush()
	t.Logf("the longest time in which nobody came in:\n%s", table.String())
}

func cold(t *testing.T, server *redistest.Server, kind coldKind, clients, goroutines int) time.Duration {
	t.Helper()
	ctx, name := within(t), redistest.Key(t)
	fresh := func() *rlock.Client {
		client, _ := newClient(t, server.Client(t), rlock.ClientOptions{Lease: never, MaxPoll: never})
		return client
	}
	operator := fresh()
	if kind.setup != nil {
		require.NoError(t, kind.setup(ctx, operator, name))
	}
	var turns []turn
	for range clients {
		turns = append(turns, kind.client(fresh(), name))
	}
	longest := everybody(t, ctx, turns, goroutines, func() {
		if kind.start != nil {
			require.NoError(t, kind.start(ctx, operator, name))
		}
	})
	require.Less(t, longest, 5*time.Second, "a wake-up was missed") // the poll and the lease are an hour
	return longest
}

// A redlock announces no release: its waiters retry at random times, which MaxPoll bounds. So it has its own table.
func TestFirstTurnsOfARedlock(t *testing.T) {
	servers := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}
	var table strings.Builder
	for _, clients := range []int{1, 2, 8} {
		for _, goroutines := range []int{2, 8, 64} {
			longest := coldRedlock(t, servers, clients, goroutines)
			_, _ = fmt.Fprintf(&table, "%d x %d: %.1f ms\n", clients, goroutines, longest.Seconds()*1000)
		}
	}
	t.Logf("the longest time in which nobody came in:\n%s", table.String())
}

func coldRedlock(t *testing.T, servers []*redistest.Server, clients, goroutines int) time.Duration {
	t.Helper()
	name := redistest.Key(t)
	var turns []turn
	for range clients {
		var nodes []redis.UniversalClient
		for _, server := range servers {
			nodes = append(nodes, server.Client(t))
		}
		client, err := redlock.NewClient(nodes, &redlock.Options{NoRestartGuard: true})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, client.Close()) })
		lock := redlock.New(client, name)
		turns = append(turns, func(ctx context.Context, came func()) error {
			return lock.Do(ctx, func(context.Context) error { came(); return nil })
		})
	}
	return everybody(t, within(t), turns, goroutines, func() {})
}
