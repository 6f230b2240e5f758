package semaphore_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

const (
	labLease = 2 * time.Second
	labLimit = labLease / 6 // of one command

	// patience bounds every wait for something that has to happen. Nothing is measured against it.
	patience = 30 * time.Second
)

func quiet(opts *rlock.ClientOptions) *rlock.ClientOptions {
	if opts == nil {
		opts = &rlock.ClientOptions{}
	}
	opts.Logger = slog.New(slog.DiscardHandler)
	return opts
}

// newClient makes a client that has to have nothing held when the test ends.
func newClient(t testing.TB, addr string, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	client, err := rlock.NewClient(rdb, quiet(opts))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, client.Close())
		_ = rdb.Close()
	})
	return client
}

// lab is a semaphore, seen through a proxy, by a client that the proxy does not touch, and by hand.
type lab struct {
	*testing.T
	server *redistest.Server
	proxy  *faultproxy.Proxy
	direct *redis.Client
	name   string
	client *rlock.Client // through the proxy
	other  *rlock.Client
}

func newLab(t *testing.T, server *redistest.Server) *lab {
	t.Helper()
	if server == nil {
		server = redistest.Shared(t)
	}
	l := &lab{
		T: t, server: server, proxy: faultproxy.Start(t, server.Addr()),
		direct: server.Client(t), name: redistest.Key(t),
	}
	l.client = newClient(t, l.proxy.Addr(), &rlock.ClientOptions{Lease: labLease})
	l.other = newClient(t, server.Addr(), &rlock.ClientOptions{Lease: labLease})
	// The first request of a client is answered with the server's time only. Not the one under test.
	for _, c := range []*rlock.Client{l.client, l.other} {
		s := semaphore.NewCounting(c, l.name+":warm")
		require.NoError(t, s.Release(t.Context(), 1))
	}
	return l
}

// leased sets a capacity and returns the semaphore by the client that goes through the proxy.
func (l *lab) leased(capacity int64, opts ...rlock.Option) *semaphore.Semaphore {
	l.Helper()
	s := semaphore.New(l.client, l.name, opts...)
	require.NoError(l, s.SetCapacity(l.bounded(), capacity))
	return s
}

// bounded is a context for what has to succeed, so that a failure is not a hang.
func (l *lab) bounded() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.Cleanup(cancel)
	return ctx
}

// sums asserts how many permits are free and how many are taken, as they stand in Redis.
func (l *lab) sums(free, taken int64) {
	l.Helper()
	require.Equal(l, []int64{free, taken}, l.standing())
}

func (l *lab) standing() []int64 {
	l.Helper()
	free, err := l.direct.Get(l.Context(), l.name).Int64()
	require.NoError(l, err)
	return []int64{free, l.direct.ZCard(l.Context(), l.leases()).Val()}
}

func (l *lab) leases() string { return "{" + l.name + "}:timeout" }

// soon waits for what is free and what is taken.
func (l *lab) soon(free, taken int64) {
	l.Helper()
	redistest.Eventually(l, patience, func() bool {
		got := l.standing()
		return got[0] == free && got[1] == taken
	}, "the permits come back")
}

// came is what an Acquire came back with.
type came struct {
	ctx     context.Context
	release func() error
	err     error
}

// waits starts an Acquire and returns when it waits.
func (l *lab) waits(ctx context.Context, s *semaphore.Semaphore, n int64) <-chan came {
	l.Helper()
	c := make(chan came, 1)
	l.untilWaiting(func() {
		held, release, err := s.Acquire(ctx, n)
		c <- came{held, release, err}
	})
	return c
}

// untilWaiting starts a call in a goroutine and returns when it waits.
func (l *lab) untilWaiting(call func()) {
	l.Helper()
	count := func() int { return l.client.Stats().Waiters + l.other.Stats().Waiters }
	before := count()
	go call()
	redistest.Eventually(l, patience, func() bool { return count() > before }, "the call waits")
}

// listened waits until somebody listens on the semaphore's channel.
func (l *lab) listened() {
	l.Helper()
	channel := "redisson_sc:{" + l.name + "}"
	redistest.Eventually(l, patience, func() bool {
		return l.direct.PubSubNumSub(l.Context(), channel).Val()[channel] > 0
	}, "somebody listens")
}

// arrives waits for something that is about to come.
func arrives[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	return redistest.Receive(t, patience, c, what)
}

// oneOf waits for what comes first over any of several channels.
func oneOf[T any](t testing.TB, from []<-chan T, what string) T {
	t.Helper()
	late := time.After(patience)
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(late)}}
	for _, c := range from {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	chosen, v, _ := reflect.Select(cases)
	require.NotZero(t, chosen, "not within %v: %s", patience, what)
	return v.Interface().(T)
}

// nothingYet asserts that nothing came, which is only worth something after what would have brought it.
func nothingYet[T any](t testing.TB, c <-chan T, why string) {
	t.Helper()
	select {
	case <-c:
		t.Fatal(why)
	default:
	}
}
