package hold_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// hook is code of an application's that the library runs, and that comes back to the same lock. It does so once at a
// time, for what it calls runs hooks, too.
type hook struct {
	back  atomic.Pointer[func()]
	busy  atomic.Bool
	calls atomic.Int64
}

func (h *hook) run() {
	if back := h.back.Load(); back != nil && h.busy.CompareAndSwap(false, true) {
		h.calls.Add(1)
		(*back)()
		h.busy.Store(false)
	}
}

// hostileContext runs the hook from each of its methods.
type hostileContext struct {
	context.Context
	hook *hook
}

func (c hostileContext) Value(key any) any           { c.hook.run(); return c.Context.Value(key) }
func (c hostileContext) Err() error                  { c.hook.run(); return c.Context.Err() }
func (c hostileContext) Done() <-chan struct{}       { c.hook.run(); return c.Context.Done() }
func (c hostileContext) Deadline() (time.Time, bool) { c.hook.run(); return c.Context.Deadline() }

// hostileHandler runs it for each line of the log.
type hostileHandler struct{ hook *hook }

func (h hostileHandler) Enabled(context.Context, slog.Level) bool  { h.hook.run(); return true }
func (h hostileHandler) Handle(context.Context, slog.Record) error { h.hook.run(); return nil }
func (h hostileHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h hostileHandler) WithGroup(string) slog.Handler             { return h }

// hostileError is what a Dialer of the application's returns.
type hostileError struct{ hook *hook }

func (e *hostileError) Error() string   { e.hook.run(); return "dial: no" }
func (e *hostileError) Is(error) bool   { e.hook.run(); return false }
func (e *hostileError) As(any) bool     { e.hook.run(); return false }
func (e *hostileError) Unwrap() error   { e.hook.run(); return nil }
func (e *hostileError) Timeout() bool   { e.hook.run(); return false }
func (e *hostileError) Temporary() bool { e.hook.run(); return false }

func hostileObserver(h *hook) *rlock.Observer {
	return &rlock.Observer{
		Begin:   func(ctx context.Context, _ rlock.Call) context.Context { h.run(); return ctx },
		End:     func(context.Context, rlock.Call, time.Duration, error) { h.run() },
		Held:    func(ctx context.Context, _ rlock.Call) context.Context { h.run(); return hostileContext{ctx, h} },
		Ended:   func(context.Context, rlock.Call, time.Duration, error) { h.run() },
		Renewed: func(lock.Renewal) { h.run() },
		Lost:    func(*lock.LostError) { h.run() },
		Command: func(rlock.Command) { h.run() },
	}
}

// hostileKinds are locks of each kind with holds.
var hostileKinds = map[string]func(open func() redis.UniversalClient, opts rlock.ClientOptions) (
	c interface{ Close() error }, l lock.Locker, err error){
	"rlock":    onOne(func(c *rlock.Client) lock.Locker { return plainK(c) }),
	"kept":     onOne(func(c *rlock.Client) lock.Locker { return rlock.New(c, "k", rlock.Keep(200*time.Millisecond)) }),
	"limited":  onOne(func(c *rlock.Client) lock.Locker { return rlock.New(c, "k", rlock.MaxHold(time.Second)) }),
	"fairlock": onOne(func(c *rlock.Client) lock.Locker { return fairlock.New(c, "k") }),
	"readers":  onOne(func(c *rlock.Client) lock.Locker { return rwlock.New(c, "k").Read() }),
	"writers":  onOne(func(c *rlock.Client) lock.Locker { return rwlock.New(c, "k").Write() }),
	"multilock": onOne(func(c *rlock.Client) lock.Locker {
		return multilock.New([]*rlock.Lock{rlock.New(c, "k"), rlock.New(c, "other")})
	}),
	"redlock": func(open func() redis.UniversalClient, opts rlock.ClientOptions) (
		interface{ Close() error }, lock.Locker, error) {
		c, err := redlock.NewClient([]redis.UniversalClient{open(), open(), open()},
			&redlock.Options{ClientOptions: opts, NoRestartGuard: true})
		if err != nil {
			return nil, nil, err
		}
		return c, redlock.New(c, "k"), nil
	},
}

func onOne(l func(c *rlock.Client) lock.Locker) func(open func() redis.UniversalClient, opts rlock.ClientOptions) (
	interface{ Close() error }, lock.Locker, error) {
	return func(open func() redis.UniversalClient, opts rlock.ClientOptions) (
		interface{ Close() error }, lock.Locker, error) {
		c, err := rlock.NewClient(open(), &opts)
		if err != nil {
			return nil, nil, err
		}
		return c, l(c), nil
	}
}

// comesBack has the hook ask for the lock, and look at it.
func comesBack(h *hook, l lock.Locker, held *atomic.Pointer[context.Context]) {
	back := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if _, unlock, err := l.TryLock(ctx); err == nil {
			_ = unlock()
		}
		one, ok := l.(*rlock.Lock)
		if in := held.Load(); ok && in != nil {
			_, _ = one.Held(*in)
		}
		if ok {
			_, _ = one.Inspect(ctx)
		}
	}
	h.back.Store(&back)
}

// Defect G6: a lock asked the caller's context for a value under the mutex of its name, and a context whose Value asked
// Held blocked every call on that name for good. No code of the application's runs under a mutex of the library's.
func TestCodeOfTheApplicationMayComeBackToTheLock(t *testing.T) {
	for name, open := range hostileKinds {
		t.Run(name, func(t *testing.T) {
			h := &hook{}
			c, l, err := open(hostileNodes(t, h, new(atomic.Bool)), rlock.ClientOptions{
				Lease: 3 * time.Second, Logger: slog.New(hostileHandler{h}), Observer: hostileObserver(h),
			})
			require.NoError(t, err)
			var in atomic.Pointer[context.Context]
			comesBack(h, l, &in)
			inTime(t, func() {
				for range 3 {
					useHostile(t, h, l, &in)
				}
				h.back.Store(nil)
				_ = c.Close()
			})
			require.Positive(t, h.calls.Load())
		})
	}
}

// hostileNodes makes clients of servers of their own, which while they are down cannot be dialled.
func hostileNodes(t *testing.T, h *hook, down *atomic.Bool) func() redis.UniversalClient {
	nodes := 0
	return func() redis.UniversalClient {
		sim := simredis.New(t)
		nodes++
		o := *sim.Client().Options()
		o.Addr, o.MaxRetries = "redis"+strconv.Itoa(nodes)+".test:6379", -1
		o.Dialer = func(context.Context, string, string) (net.Conn, error) {
			if down.Load() {
				return nil, &hostileError{h}
			}
			return sim.Dial()
		}
		sim.SetFault(func(int, []string) simredis.Verdict {
			if down.Load() {
				return simredis.Cut
			}
			return simredis.Pass
		})
		rdb := redis.NewClient(&o)
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
}

// useHostile locks, enters again, waits in vain, derives, and unlocks; the last time an operator breaks the lock.
func useHostile(t *testing.T, h *hook, l lock.Locker, in *atomic.Pointer[context.Context]) {
	held, unlock, err := l.Lock(hostileContext{context.Background(), h})
	if err != nil {
		t.Error(err)
		return
	}
	in.Store(&held)
	if _, leave, err := l.Lock(hostileContext{held, h}); err == nil {
		_ = leave()
	}
	short, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if _, leave, err := l.Lock(hostileContext{short, h}); err == nil {
		_ = leave()
	}
	derived, stop := context.WithCancel(hostileContext{held, h})
	defer stop()
	_ = derived.Err()
	if one, ok := l.(*rlock.Lock); ok {
		_ = one.Break(hostileContext{context.Background(), h})
	}
	_ = unlock()
	in.Store(nil)
}

// An error of the application's Dialer has methods, too, and they are called to tell one error from another.
// This is defect G6.
func TestAnErrorOfADialerMayComeBackToTheLock(t *testing.T) {
	for name, open := range hostileKinds {
		t.Run(name, func(t *testing.T) {
			h, down := &hook{}, &atomic.Bool{}
			c, l, err := open(hostileNodes(t, h, down), rlock.ClientOptions{
				Lease: 1500 * time.Millisecond, ReleaseTimeout: 300 * time.Millisecond,
				Logger: slog.New(slog.DiscardHandler),
			})
			require.NoError(t, err)
			var in atomic.Pointer[context.Context]
			inTime(t, func() {
				held, unlock, err := l.Lock(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				comesBack(h, l, &in)
				down.Store(true)
				short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
				defer cancel()
				if _, leave, err := l.TryLock(short); err == nil { // as a reader, who joins
					_ = leave()
				}
				<-held.Done() // renewals fail, too
				if err := unlock(); !errors.Is(err, rlock.ErrLost) {
					t.Error(err)
				}
				h.back.Store(nil)
				_ = c.Close()
			})
			require.Positive(t, h.calls.Load())
		})
	}
}

// inTime has do return; if it does not, something waits for itself.
func inTime(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a call that came back waits for itself")
	}
}
