package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// TestMain runs more tests at a time than there are processors, because they mostly wait for leases to
// end and for servers to fail over. An explicit -parallel takes precedence.
func TestMain(m *testing.M) {
	redistest.InParallel(6)
	// go-redis itself never closes the connection by which a failover cluster client listens to its
	// Sentinels.
	const redis = "github.com/redis/go-redis/v9."
	redistest.Main(m, goleak.IgnoreAnyFunction(redis+"(*sentinelFailover).listen"),
		goleak.IgnoreAnyFunction(redis+"(*channel).initMsgChan.func1"),
		goleak.IgnoreAnyFunction(redis+"(*channel).initHealthCheck.func1"))
}

const (
	limit = 30 * time.Second // of a wait for what must happen

	// never is a poll interval that no test outlives: a waiter that wakes was woken by a message.
	never = time.Hour
)

// events keeps what a client reported.
type events struct {
	client *rlock.Client

	mu      sync.Mutex // guards all below
	renewed map[string][]time.Time
	failed  map[string][]error
	lost    []*rlock.LostError
}

func (e *events) observer() *rlock.Observer {
	e.renewed, e.failed = make(map[string][]time.Time), make(map[string][]error)
	return &rlock.Observer{
		Renewed: func(r lock.Renewal) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if r.Err != nil {
				e.failed[r.Name] = append(e.failed[r.Name], r.Err)
				return
			}
			e.renewed[r.Name] = append(e.renewed[r.Name], time.Now())
		},
		Lost: func(err *rlock.LostError) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.lost = append(e.lost, err)
		},
	}
}

func (e *events) renewals(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.renewed[name])
}

func (e *events) failures(name string) []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]error(nil), e.failed[name]...)
}

func (e *events) losses() []*rlock.LostError {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*rlock.LostError(nil), e.lost...)
}

// waits is how many calls of the client wait.
func (e *events) waits() int { return e.client.Stats().Waiters }

// renewedAgain waits until each of the locks was renewed n more times.
func (e *events) renewedAgain(t testing.TB, n int, names ...string) {
	t.Helper()
	wants := make([]int, len(names))
	for i, name := range names {
		wants[i] = e.renewals(name) + n
	}
	for i, name := range names {
		redistest.Eventually(t, limit, func() bool { return e.renewals(name) >= wants[i] },
			fmt.Sprintf("%s was not renewed %d times", name, n))
	}
}

// newClient makes a client that is closed, with nothing held, when the test ends. Its observer must have been told the
// end of all that began.
func newClient(
	t testing.TB, rdb redis.UniversalClient, opts rlock.ClientOptions,
) (*rlock.Client, *events) {
	t.Helper()
	e, told := &events{}, &observertest.Checker{}
	opts.Observer = lock.JoinObservers(opts.Observer, e.observer(), told.Observer())
	opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	e.client = client
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !t.Failed() {
			t.Error(err)
		}
		told.Check(t)
	})
	return client, e
}

// within is a context that ends long after the awaited event should have happened.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// held locks and returns the hold's context, and its unlock.
func held(t testing.TB, lock *rlock.Lock) (context.Context, func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	got, unlock, err := locked(ctx, lock)
	require.NoError(t, err)
	return got, unlock
}

// locked is Lock, bounded: the hold's context does not end with the bound.
func locked(ctx context.Context, lock *rlock.Lock) (context.Context, func() error, error) {
	bounded, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errors.New("Lock took too long")) })
	got, unlock, err := lock.Lock(bounded)
	if !timer.Stop() || err != nil {
		cancel(nil)
	}
	return got, unlock, err
}

func alive(t testing.TB, lock *rlock.Lock, ctx context.Context) rlock.Hold {
	t.Helper()
	require.NoError(t, ctx.Err(), "%v", context.Cause(ctx))
	hold, err := lock.Held(ctx)
	require.NoError(t, err)
	return hold
}

// outcome is the result of a Lock in a goroutine.
type outcome struct {
	ctx    context.Context
	unlock func() error
	err    error
}

// waiting starts a Lock and returns once it is known to wait. It may wait for as long as the test goes on: what it waits
// behind may be a failover, and a Sentinel that found itself late by two seconds does nothing for 30 s (TILT).
func waiting(t testing.TB, e *events, lock *rlock.Lock) <-chan outcome {
	t.Helper()
	before := e.waits()
	c := make(chan outcome, 1)
	go func() {
		ctx, unlock, err := lock.Lock(t.Context())
		c <- outcome{ctx, unlock, err}
	}()
	redistest.Eventually(t, limit, func() bool { return e.waits() > before },
		"the call does not wait")
	return c
}

func arrives(t testing.TB, c <-chan outcome) outcome {
	t.Helper()
	o := redistest.Receive(t, limit, c, "the waiter did not get in")
	require.NoError(t, o.err)
	return o
}

// subscribed waits until the channel of a lock has so many subscribers on a server.
func subscribed(t testing.TB, server *redistest.Server, name string) {
	t.Helper()
	channel := keys.Prefix("redisson_lock__channel", name)
	redistest.Eventually(t, limit, func() bool {
		for _, c := range server.PubSubChannels(t) {
			if c == channel {
				return true
			}
		}
		return false
	}, "nobody listens on "+channel)
}

// exists reports whether a lock's key is on a server.
func exists(t testing.TB, server *redistest.Server, name string) bool {
	t.Helper()
	for _, key := range server.Keys(t) {
		if key == name {
			return true
		}
	}
	return false
}

// tagged returns a hash tag whose slot is served by a node of the cluster.
func tagged(t testing.TB, lab *redistest.ClusterLab, node int, prefix string) string {
	t.Helper()
	for i := range 100_000 {
		tag := prefix + strconv.Itoa(i)
		slot := keys.Slot(tag)
		if first, last := node*16384/lab.Len(), (node+1)*16384/lab.Len()-1; slot >= first && slot <= last {
			return tag
		}
	}
	t.Fatal("no tag found")
	return ""
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}
