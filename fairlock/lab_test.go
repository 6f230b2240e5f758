package fairlock_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

var quiet = slog.New(slog.DiscardHandler)

const (
	// never is a lease and a poll interval that no test lives to see the end of.
	never = time.Hour

	// patience bounds the wait for what has to happen. Nothing is measured against it.
	patience = 30 * time.Second
)

// lab is one name on one server, seen by clients of their own, each of which stands for a process.
type lab struct {
	*testing.T
	server *redistest.Server
	rdb    *redis.Client
	name   string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	return labOn(t, redistest.Shared(t))
}

func labOn(t *testing.T, server *redistest.Server) *lab {
	t.Helper()
	return &lab{T: t, server: server, rdb: server.Client(t), name: redistest.Key(t)}
}

// peer is one process's part: a client, its fair lock, and what it heard.
type peer struct {
	*lab
	*rlock.Lock
	client *rlock.Client

	mu   sync.Mutex // guards all below
	lost []*rlock.LostError
}

// peer makes a client that must be closed with nothing held at the end. Zero options mean never.
func (l *lab) peer(opts rlock.ClientOptions, lockOpts ...rlock.Option) *peer {
	l.Helper()
	return l.peerAt(l.server.Addr(), opts, lockOpts...)
}

func (l *lab) peerAt(addr string, opts rlock.ClientOptions, lockOpts ...rlock.Option) *peer {
	l.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	l.Cleanup(func() { _ = rdb.Close() })
	return l.peerOver(rdb, opts, lockOpts...)
}

func (l *lab) peerOver(rdb redis.UniversalClient, opts rlock.ClientOptions, lockOpts ...rlock.Option) *peer {
	l.Helper()
	p := &peer{lab: l}
	if opts.Lease == 0 {
		opts.Lease = never
	}
	if opts.MaxPoll == 0 {
		opts.MaxPoll = never
	}
	opts.Logger = quiet
	opts.Observer = &rlock.Observer{Lost: func(err *rlock.LostError) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lost = append(p.lost, err)
	}}
	var err error
	p.client, err = rlock.NewClient(rdb, &opts)
	require.NoError(l, err)
	l.Cleanup(func() {
		if err := p.client.Close(); !l.Failed() {
			assert.NoError(l, err, "everything was unlocked")
		}
	})
	p.Lock = fairlock.New(p.client, l.name, lockOpts...)
	return p
}

// hold is what Lock returned.
type hold struct {
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
	err    error
}

// take takes the lock, which nobody has. For a moment after a release it may be kept free for others.
func (p *peer) take() (h hold) {
	p.Helper()
	redistest.Eventually(p, patience, func() bool {
		held, unlock, err := p.TryLock(context.Background())
		h = hold{p.Lock, held, unlock, nil}
		return err == nil
	}, "the lock is not to be had")
	return h
}

func (p *peer) busy() {
	p.Helper()
	_, _, err := p.TryLock(context.Background())
	require.ErrorIs(p, err, rlock.ErrBusy)
}

// wait has a goroutine wait for the lock, and returns when it has its place in the queue.
func (p *peer) wait() <-chan hold {
	p.Helper()
	return p.waitWith(context.Background())
}

func (p *peer) waitWith(ctx context.Context) <-chan hold {
	p.Helper()
	before := p.places()
	c := p.start(ctx)
	redistest.Eventually(p, patience, func() bool {
		return slices.ContainsFunc(p.places(), func(id string) bool { return !slices.Contains(before, id) })
	}, "the call gets no place")
	return c
}

// start has a goroutine call Lock.
func (p *peer) start(ctx context.Context) <-chan hold {
	c := make(chan hold, 1)
	go func() {
		held, unlock, err := p.Lock.Lock(ctx)
		c <- hold{p.Lock, held, unlock, err}
	}()
	return c
}

// places are who stands in the queue: one that was just granted the lock does, too.
func (l *lab) places() []string {
	l.Helper()
	ids, err := l.rdb.ZRange(context.Background(), l.key("queue"), 0, -1).Result()
	require.NoError(l, err)
	return ids
}

// waiters is how long the queue is, with who was invited.
func (l *lab) waiters() int64 {
	l.Helper()
	n, err := l.rdb.ZCard(context.Background(), l.key("queue")).Result()
	require.NoError(l, err)
	return n
}

// key is one of the queue's keys.
func (l *lab) key(what string) string { return "holdfast_fair_" + what + ":{" + l.name + "}" }

// queued waits until the queue is so long.
func (l *lab) queued(n int) {
	l.Helper()
	redistest.Eventually(l, patience, func() bool { return l.waiters() == int64(n) }, "the queue has another length")
}

// arrives receives a hold that has to come.
func (l *lab) arrives(c <-chan hold) hold {
	l.Helper()
	h := redistest.Receive(l, patience, c, "the waiter does not get in")
	require.NoError(l, h.err)
	return h
}

// ended receives what came of a Lock that has to fail.
func (l *lab) ended(c <-chan hold) error {
	l.Helper()
	h := redistest.Receive(l, patience, c, "the call does not return")
	require.Error(l, h.err)
	require.ErrorIs(l, h.unlock(), rlock.ErrNotHeld)
	return h.err
}

// known is what the holder knows of its hold.
func (h hold) known(t testing.TB) rlock.Hold {
	t.Helper()
	require.NoError(t, h.ctx.Err())
	known, err := h.lock.Held(h.ctx)
	require.NoError(t, err)
	return known
}

// frees releases a hold that has to stand.
func (h hold) frees(t testing.TB) {
	t.Helper()
	require.NoError(t, h.unlock())
	require.ErrorIs(t, context.Cause(h.ctx), rlock.ErrReleased)
}

// ends waits for the end of a hold's context and returns its cause.
func (h hold) ends(t testing.TB) error {
	t.Helper()
	redistest.Receive(t, patience, h.ctx.Done(), "the context does not end")
	return context.Cause(h.ctx)
}

// inOrder lets the waiters in, one after another, in the order in which they stand here, and returns the
// last token.
func (l *lab) inOrder(first hold, waiting ...<-chan hold) int64 {
	l.Helper()
	last := first.known(l).Fence
	holder := first
	for i, c := range waiting {
		for _, later := range waiting[i:] {
			require.Empty(l, later, "somebody is in beside the holder")
		}
		holder.frees(l)
		holder = l.arrives(c)
		fence := holder.known(l).Fence
		require.Greater(l, fence, last)
		last = fence
	}
	holder.frees(l)
	return last
}

// left are the keys that are left of the lock, besides its token.
func (l *lab) left() (keys []string) {
	l.Helper()
	all, err := l.rdb.Keys(context.Background(), "*").Result()
	require.NoError(l, err)
	for _, key := range all {
		if strings.Contains(key, l.name) && !strings.HasPrefix(key, "redisson_lock_token:") {
			keys = append(keys, key)
		}
	}
	return keys
}

// clean asserts that nothing is left, or will be in a moment: some is taken away in the background.
func (l *lab) clean() {
	l.Helper()
	redistest.Eventually(l, patience, func() bool { return len(l.left()) == 0 }, "something is left")
}
