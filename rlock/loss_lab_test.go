package rlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// lossPatience bounds every wait for something that is about to happen.
const lossPatience = 40 * time.Second

var (
	lossRenewal = faultproxy.Script(luacall.SHA("renew"))
	lossQuiet   = slog.New(slog.DiscardHandler)
)

// lossLab is a server of the test's own, a proxy in front of it, and clients that go through the
// proxy. Direct goes past it.
type lossLab struct {
	server  *redistest.Server
	proxy   *faultproxy.Proxy
	direct  *redis.Client
	clients []*rlock.Client
	events  lossEvents
}

func newLossLab(t *testing.T, clients int, lease time.Duration) *lossLab {
	t.Helper()
	server := redistest.Start(t)
	l := &lossLab{
		server: server, proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t),
		events: lossEvents{renewed: map[string]int{}, failed: map[string]int{}},
	}
	for range clients {
		l.clients = append(l.clients, l.client(t, l.proxy.Addr(), lease))
	}
	t.Cleanup(l.close)
	return l
}

// close closes the clients, again if that happened before. Where Redis is gone it can only time out.
func (l *lossLab) close() {
	var all sync.WaitGroup
	for _, c := range l.clients {
		all.Go(func() { _ = c.Close() })
	}
	all.Wait()
}

func (l *lossLab) client(t *testing.T, addr string, lease time.Duration) *rlock.Client {
	t.Helper()
	c, err := rlock.NewClient(lossRedis(t, addr), &rlock.ClientOptions{
		Lease: lease, ReleaseTimeout: time.Second, Logger: lossQuiet, Observer: l.events.observer(),
	})
	require.NoError(t, err)
	return c
}

func lossRedis(t *testing.T, addr string) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// rival is a client of another process, as it were, which no fault of the proxy reaches.
func (l *lossLab) rival(t *testing.T, lease time.Duration) *rlock.Client {
	t.Helper()
	c := l.client(t, l.server.Addr(), lease)
	l.clients = append(l.clients, c)
	return c
}

// lossEvents counts what observers were told, by name.
type lossEvents struct {
	mu      sync.Mutex // guards the rest
	renewed map[string]int
	failed  map[string]int
	losses  int
}

func (e *lossEvents) observer() *rlock.Observer {
	return &rlock.Observer{
		Renewed: func(r rlock.Renewal) {
			e.mu.Lock()
			defer e.mu.Unlock()
			if r.Err == nil {
				e.renewed[r.Name]++
			} else {
				e.failed[r.Name]++
			}
		},
		Lost: func(*rlock.LostError) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.losses++
		},
	}
}

func (e *lossEvents) count(of *map[string]int, name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return (*of)[name]
}

func (e *lossEvents) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.losses
}

// lossHold is one hold and what was seen of its end.
type lossHold struct {
	name   string
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
	expiry time.Time // Redis keeps the key until then, at least
	until  time.Time // valid until then, by its own account
	ended  time.Time // when its context was seen to be over
}

// take acquires n holds, spread over the clients. Each client takes one after the other: it is not the
// crowd of new connections that is to be tested.
func (l *lossLab) take(n int, opts ...rlock.Option) ([]*lossHold, error) {
	holds, errs := make([]*lossHold, n), make([]error, n)
	var all sync.WaitGroup
	for first, client := range l.clients {
		all.Go(func() {
			for i := first; i < n; i += len(l.clients) {
				name := fmt.Sprintf("order:%d", i)
				h := &lossHold{name: name, lock: rlock.New(client, name, opts...)}
				h.ctx, h.unlock, errs[i] = h.lock.Lock(context.Background())
				holds[i] = h
			}
		})
	}
	all.Wait()
	if err := firstLoss(errs); err != nil {
		return nil, err
	}
	return holds, l.look(holds)
}

// look learns from Redis until when it keeps the keys. The clock is read first, so what comes out is
// never later than the truth; of several readings the best one counts.
func (l *lossLab) look(holds []*lossHold) error {
	for _, h := range holds {
		h.expiry = time.Time{}
	}
	for range 5 {
		before := time.Now()
		pipe := l.direct.Pipeline()
		for _, h := range holds {
			pipe.PTTL(context.Background(), h.name)
		}
		replies, err := pipe.Exec(context.Background())
		if err != nil {
			return err
		}
		for i, h := range holds {
			left := replies[i].(*redis.DurationCmd).Val()
			if left <= 0 {
				return fmt.Errorf("%s: no lease in Redis: %v", h.name, left)
			}
			if expiry := before.Add(left); expiry.After(h.expiry) {
				h.expiry = expiry
			}
		}
	}
	return nil
}

// lossValid checks that no holder treats its hold as live for longer than Redis keeps it.
func lossValid(holds []*lossHold) error {
	errs := make([]error, len(holds))
	for i, h := range holds {
		held, err := h.lock.Held(h.ctx)
		if h.until = held.ValidUntil; err != nil || !h.until.Before(h.expiry) {
			errs[i] = fmt.Errorf("%s: valid until %v, %v; Redis keeps it until %v",
				h.name, h.until, err, h.expiry)
		}
	}
	return firstLoss(errs)
}

// lossAwait waits until the contexts of all holds are over and notes when. Each is watched by a goroutine
// of its own, which then calls then.
func lossAwait(holds []*lossHold, then func(h *lossHold) error) error {
	errs := make([]error, len(holds))
	limit, cancel := context.WithTimeout(context.Background(), lossPatience)
	defer cancel()
	var all sync.WaitGroup
	for i, h := range holds {
		all.Go(func() {
			select {
			case <-h.ctx.Done():
				h.ended = time.Now()
				errs[i] = then(h)
			case <-limit.Done():
				errs[i] = fmt.Errorf("%s: its context did not end", h.name)
			}
		})
	}
	all.Wait()
	return firstLoss(errs)
}

// firstLoss tells the first error, and how many there are.
func firstLoss(errs []error) error {
	failed := 0
	var first error
	for _, err := range errs {
		if err == nil {
			continue
		}
		if failed++; first == nil {
			first = err
		}
	}
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d: %w", failed, len(errs), first)
}

// lossPoll waits until condition holds. Unlike redistest.Eventually it may be used by any goroutine.
func lossPoll(patience time.Duration, condition func() bool, message string) error {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("it did not happen: %s", message)
		}
	}
	return nil
}
