package rwlock_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

var quiet = slog.New(slog.DiscardHandler)

const (
	// never is a lease and a poll interval that no test lives to see the end of.
	never = time.Hour

	// patience bounds the wait for what has to happen. Nothing is measured against it.
	patience = 20 * time.Second
)

// lab is one name on one server, seen by clients of their own.
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

// peer is one process's part: a client, its read-write lock, and what it heard.
type peer struct {
	*lab
	*rwlock.Lock
	client *rlock.Client

	mu      sync.Mutex // guards all below
	renewed map[string]int
	lost    []*rlock.LostError

	held, ended int
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
	p := &peer{lab: l, renewed: make(map[string]int)}
	if opts.Lease == 0 {
		opts.Lease = never
	}
	if opts.MaxPoll == 0 {
		opts.MaxPoll = never
	}
	opts.Logger = quiet
	opts.Observer = &rlock.Observer{
		Held:  func(context.Context, rlock.Call) context.Context { p.note(func() { p.held++ }); return nil },
		Ended: func(context.Context, rlock.Call, time.Duration, error) { p.note(func() { p.ended++ }) },
		Renewed: func(r rlock.Renewal) {
			if r.Err == nil {
				p.note(func() { p.renewed[r.Name]++ })
			}
		},
		Lost: func(err *rlock.LostError) { p.note(func() { p.lost = append(p.lost, err) }) },
	}
	var err error
	p.client, err = rlock.NewClient(rdb, &opts)
	require.NoError(l, err)
	l.Cleanup(func() {
		if err := p.client.Close(); !l.Failed() {
			assert.NoError(l, err, "everything was unlocked")
		}
	})
	p.Lock = rwlock.New(p.client, l.name, lockOpts...)
	return p
}

func (p *peer) note(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// hold is what Lock returned.
type hold struct {
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
	err    error
}

// take takes a side that is free.
func (p *peer) take(lock *rlock.Lock, ctx context.Context) hold {
	p.Helper()
	held, unlock, err := lock.TryLock(ctx)
	require.NoError(p, err)
	return hold{lock, held, unlock, nil}
}

func (p *peer) read() hold  { p.Helper(); return p.take(p.Read(), context.Background()) }
func (p *peer) write() hold { p.Helper(); return p.take(p.Write(), context.Background()) }

// busy asserts that a side is busy.
func (p *peer) busy(lock *rlock.Lock) {
	p.Helper()
	_, _, err := lock.TryLock(context.Background())
	require.ErrorIs(p, err, rlock.ErrBusy)
}

// wait has a goroutine wait for a side, and returns when it does and listens.
func (p *peer) wait(lock *rlock.Lock) <-chan hold {
	p.Helper()
	return p.waitWith(context.Background(), lock)
}

func (p *peer) waitWith(ctx context.Context, lock *rlock.Lock) <-chan hold {
	p.Helper()
	c, before := make(chan hold, 1), p.client.Stats().Waiters
	go func() {
		held, unlock, err := lock.Lock(ctx)
		c <- hold{lock, held, unlock, err}
	}()
	p.until(func() bool { return p.client.Stats().Waiters > before }, "the call does not wait")
	return c
}

func (p *peer) until(condition func() bool, message string) {
	p.Helper()
	redistest.Eventually(p, patience, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return condition()
	}, message)
}

// renewals waits until the lock was renewed so many times more.
func (p *peer) renewals(more int) {
	p.Helper()
	before := 0
	p.note(func() { before = p.renewed[p.name] })
	p.until(func() bool { return p.renewed[p.name] >= before+more }, "it is not renewed")
}

// listened waits until somebody listens for releases of the lock.
func (l *lab) listened() { l.Helper(); l.listeners(1) }

// listeners waits until so many clients do.
func (l *lab) listeners(many int64) {
	l.Helper()
	redistest.Eventually(l, patience, func() bool {
		return l.rdb.PubSubNumSub(context.Background(), l.channel()).Val()[l.channel()] >= many
	}, "nobody listens")
}

func (l *lab) channel() string { return keys.Prefix("redisson_rwlock", l.name) }
func (l *lab) gate() string    { return keys.Own("gate", l.name) }

// holdKey is Redisson's key of a read hold's level.
func (l *lab) holdKey(id, level string) string {
	return "{" + l.name + "}:" + id + ":rwlock_timeout:" + level
}

// arrives receives a hold that has to come.
func (l *lab) arrives(c <-chan hold) hold {
	l.Helper()
	select {
	case h := <-c:
		require.NoError(l, h.err)
		return h
	case <-time.After(patience):
		l.Fatal("the waiter does not get in")
		return hold{}
	}
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
	select {
	case <-h.ctx.Done():
	case <-time.After(patience):
		t.Fatal("the context does not end")
	}
	return context.Cause(h.ctx)
}

// hash is what stands at the name.
func (l *lab) hash() map[string]string {
	l.Helper()
	fields, err := l.rdb.HGetAll(context.Background(), l.name).Result()
	require.NoError(l, err)
	if len(fields) > 0 {
		require.Positive(l, l.rdb.PTTL(context.Background(), l.name).Val(), "a lock has an expiry")
	}
	return fields
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
