package topologies

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// process is one process of an application: its clients, and what they reported.
type process struct {
	t      testing.TB
	site   *site
	client *rlock.Client   // nil on independent nodes
	quorum *redlock.Client // of independent nodes
	sent   redistest.Meter
	path   netfault.Path

	listener conformance.Listener

	keeper sync.Once
	plain  *rlock.Client // without the meter; for what a lock is prepared by

	mu      sync.Mutex // guards all below
	renewed map[string]int
	failed  map[string]error // the last renewal of a name that failed
	lost    []*rlock.LostError
}

// process opens the clients of one process, which are closed with the test, whatever they still hold.
func (s *site) process(t testing.TB, opts rlock.ClientOptions) *process {
	t.Helper()
	p := &process{t: t, site: s, renewed: make(map[string]int), failed: make(map[string]error)}
	opts.Logger, opts.Observer = p.listener.Logger(), rlock.JoinObservers(p.observer(), p.listener.Observer())
	p.path.Next = p.sent.Dial
	if s.nodes {
		p.quorum = p.openQuorum(redlock.Options{ClientOptions: opts, NoRestartGuard: true})
	} else {
		p.client = p.open(opts, p.path.Dial)
	}
	return p
}

func (p *process) open(opts rlock.ClientOptions, dial dialer) *rlock.Client {
	p.t.Helper()
	rdb := p.site.connect(dial)
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		_ = client.Close()
		_ = rdb.Close()
	})
	return client
}

func (p *process) openQuorum(opts redlock.Options) *redlock.Client {
	p.t.Helper()
	var nodes []redis.UniversalClient
	for _, server := range p.site.servers {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: p.path.Dial})
		p.t.Cleanup(func() { _ = rdb.Close() })
		nodes = append(nodes, rdb)
	}
	if opts.Lease > 0 {
		opts.NodeTimeout = min(opts.Lease/6, 3*time.Second) // the maximum
	}
	client, err := redlock.NewClient(nodes, &opts)
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = client.Close() })
	return client
}

func (p *process) close() error {
	if p.client == nil {
		return p.quorum.Close()
	}
	return p.client.Close()
}

// keep sets the capacity of a semaphore, over connections that no meter sees.
func (p *process) keep(name string) {
	p.t.Helper()
	p.keeper.Do(func() {
		var uncounted redistest.Meter
		p.plain = p.open(rlock.ClientOptions{Logger: quiet}, uncounted.Dial)
	})
	if _, known := p.site.permits.LoadOrStore(name, true); known {
		return
	}
	err := semaphore.New(p.plain, name).SetCapacity(within(p.t), 1)
	if bad := (*rlock.ArgumentError)(nil); !errors.As(err, &bad) { // which every call on the semaphore returns as well
		require.NoError(p.t, err)
	}
}

func (p *process) observer() *rlock.Observer {
	return &rlock.Observer{
		Renewed: func(r rlock.Renewal) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if r.Err != nil {
				p.failed[r.Name] = r.Err
				return
			}
			p.renewed[r.Name]++
		},
		Lost: func(err *rlock.LostError) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.lost = append(p.lost, err)
		},
	}
}

func (p *process) losses() []*rlock.LostError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]*rlock.LostError(nil), p.lost...)
}

func (p *process) stats() rlock.Stats {
	if p.client == nil {
		return p.quorum.Stats()
	}
	return p.client.Stats()
}

func (p *process) waits() int { return p.stats().Waiters }

// renewedAgain waits until that many names were renewed n more times.
func (p *process) renewedAgain(t testing.TB, n, names int) {
	t.Helper()
	p.mu.Lock()
	before := maps.Clone(p.renewed)
	p.mu.Unlock()
	defer func() {
		if t.Failed() {
			t.Log("lost:", p.losses(), "renewed:", p.renewed, "before:", before, "not renewed:", p.failed)
		}
	}()
	redistest.Eventually(t, patience, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		count := 0
		for name, times := range p.renewed {
			if times >= before[name]+n {
				count++
			}
		}
		return count >= names
	}, "not everything is renewed")
}

// within is a context that ends long after the awaited event should have happened.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// stay is the result of a Lock.
type stay struct {
	lock   conformance.Lock
	ctx    context.Context
	unlock func() error
	err    error
}

// enter locks, bounded; the hold's context does not end with the bound.
func enter(lock conformance.Lock) stay {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(patience, cancel)
	held, unlock, err := lock.Lock(ctx)
	timer.Stop()
	if err != nil {
		cancel()
	}
	return stay{lock, held, func() error { defer cancel(); return unlock() }, err}
}

func entered(t testing.TB, lock conformance.Lock) stay {
	t.Helper()
	s := enter(lock)
	require.NoError(t, s.err)
	return s
}

// wait starts a Lock of a process and returns once it is known to wait.
func (p *process) wait(t testing.TB, lock conformance.Lock) <-chan stay {
	t.Helper()
	before, c := p.waits(), make(chan stay, 1)
	go func() { c <- enter(lock) }()
	redistest.Eventually(t, patience, func() bool { return p.waits() > before }, "the call does not wait")
	return c
}

func arrives(t testing.TB, c <-chan stay) stay {
	t.Helper()
	s := redistest.Receive(t, 2*patience, c, "the waiter did not get in")
	require.NoError(t, s.err)
	return s
}

// standing checks that a hold that counts as live is so: it exists, and excludes others.
func standing(t testing.TB, k kind, s stay, other *process, name string) {
	t.Helper()
	require.NoError(t, s.ctx.Err(), "%v", context.Cause(s.ctx))
	_, unlock, err := k.other(other, name).TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
}
