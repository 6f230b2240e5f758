package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// patience bounds every wait for something that has to happen. Nothing is measured against it.
const patience = 20 * time.Second

// scripts of the nodes, as a proxy sees them.
var (
	acquires = faultproxy.Script(luacall.SHA("quorum_acquire"))
	renews   = faultproxy.Script(luacall.SHA("quorum_renew"))
	releases = faultproxy.Script(luacall.SHA("release"))
)

// lab is some independent servers, and a proxy in front of each.
type lab struct {
	t       testing.TB
	servers []*redistest.Server
	proxies []*faultproxy.Proxy
	events  events
}

func newLab(t testing.TB, size int) *lab {
	t.Helper()
	l := &lab{t: t}
	for range size {
		s := redistest.Start(t)
		l.servers = append(l.servers, s)
		l.proxies = append(l.proxies, faultproxy.Start(t, s.Addr()))
	}
	return l
}

// direct are the addresses of the servers, proxied those of their proxies.
func (l *lab) direct() (addrs []string) {
	for _, s := range l.servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

func (l *lab) proxied() (addrs []string) {
	for _, p := range l.proxies {
		addrs = append(addrs, p.Addr())
	}
	return addrs
}

// options are what most tests want: a lease that is long for a busy machine, and servers that vote at once.
func options(lease time.Duration) redlock.Options {
	return redlock.Options{
		ClientOptions: rlock.ClientOptions{
			Lease: lease, MaxPoll: 100 * time.Millisecond, ReleaseTimeout: 2 * time.Second, Logger: quiet,
		},
		NodeTimeout:    min(lease/6, time.Second),
		NoRestartGuard: true,
	}
}

func (l *lab) client(addrs []string, o redlock.Options) *redlock.Client {
	l.t.Helper()
	var nodes []redis.UniversalClient
	for _, addr := range addrs {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		l.t.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	if o.Observer == nil {
		o.Observer = l.events.observer()
	}
	client, err := redlock.NewClient(nodes, &o)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = client.Close() })
	return client
}

// within returns a context for what has to succeed, so that a failure is a failure and not a hang.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func take(t testing.TB, lock *rlock.Lock) (held context.Context, unlock func() error) {
	t.Helper()
	held, unlock, err := lock.Lock(within(t))
	require.NoError(t, err)
	return held, unlock
}

// once locks and unlocks, and returns the fencing token.
func once(t testing.TB, lock *rlock.Lock) (fence int64) {
	t.Helper()
	held, unlock := take(t, lock)
	fence = alive(t, lock, held).Fence
	require.NoError(t, unlock())
	return fence
}

// alive asserts that ctx carries a live hold.
func alive(t testing.TB, lock *rlock.Lock, held context.Context) rlock.Hold {
	t.Helper()
	hold, err := lock.Held(held)
	require.NoError(t, err)
	require.NoError(t, held.Err())
	return hold
}

// ended waits for a context's end and returns its cause.
func ended(t testing.TB, ctx context.Context) error {
	t.Helper()
	redistest.Receive(t, patience, ctx.Done(), "the context should have ended")
	return context.Cause(ctx)
}

// field is what server i knows of a lock: hold id and count.
func (l *lab) fields(i int, name string) map[string]string {
	l.t.Helper()
	rdb := l.servers[i].Client(l.t)
	fields, err := rdb.HGetAll(context.Background(), name).Result()
	require.NoError(l.t, err)
	return fields
}

// on reports which servers have a hold of the lock.
func (l *lab) on(name string, among ...int) (at []int) {
	l.t.Helper()
	for _, i := range among {
		if len(l.fields(i, name)) > 0 {
			at = append(at, i)
		}
	}
	return at
}

// token is the stored fencing token at server i.
func (l *lab) token(i int, name string) int64 {
	l.t.Helper()
	n, err := l.servers[i].Client(l.t).Get(context.Background(), tokenKey(name)).Int64()
	if err == redis.Nil {
		return 0
	}
	require.NoError(l.t, err)
	return n
}

func tokenKey(name string) string { return "redisson_lock_token:{" + name + "}" }

// soonOn waits until just these servers have a hold of the lock.
func (l *lab) soonOn(name string, want ...int) {
	l.t.Helper()
	var all, at []int
	for i := range l.servers {
		all = append(all, i)
	}
	defer func() {
		if l.t.Failed() {
			l.t.Logf("%s is held at %v, not at %v", name, at, want)
		}
	}()
	redistest.Eventually(l.t, patience, func() bool {
		at = l.on(name, all...)
		return fmt.Sprint(at) == fmt.Sprint(want)
	}, fmt.Sprintf("%s should be held at %v", name, want))
}

// events counts what a client's observer is told.
type events struct {
	mu      sync.Mutex // guards what follows
	renewed map[string]int
	failed  error // a renewal, most recently
	lost    []*rlock.LostError
}

func (e *events) observer() *rlock.Observer {
	return &rlock.Observer{
		Renewed: func(r rlock.Renewal) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if e.renewed == nil {
				e.renewed = make(map[string]int)
			}
			if r.Err == nil {
				e.renewed[r.Name]++
			} else {
				e.failed = r.Err
			}
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
	return e.renewed[name]
}

// failure waits for a renewal that fails, and returns its error.
func (e *events) failure(t testing.TB) (err error) {
	t.Helper()
	redistest.Eventually(t, patience, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		err = e.failed
		return err != nil
	}, "a renewal should fail")
	return err
}

// renewedAgain waits for that many more renewals.
func (l *lab) renewedAgain(name string, more int) {
	l.t.Helper()
	before := l.events.renewals(name)
	redistest.Eventually(l.t, patience, func() bool {
		return l.events.renewals(name) >= before+more
	}, name+" should be renewed")
}

// soonAt waits until server i has a hold of the lock.
func (l *lab) soonAt(name string, i int) {
	l.t.Helper()
	redistest.Eventually(l.t, patience, func() bool { return len(l.on(name, i)) > 0 },
		fmt.Sprintf("%s should be held at %d", name, i))
}
