package faulttest_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	onceLease = 3 * time.Second
	onceLimit = onceLease / 6 // of one command

	// onceGrace is how long something may be left behind until it was reclaimed: some limits, and less
	// than the lease, so that what passes did not just expire.
	onceGrace = 4 * onceLimit

	oncePatience = 15 * time.Second
)

// onceLab is a lock through a proxy, and the same lock of a rival that the proxy does not touch.
type onceLab struct {
	*testing.T
	proxy       *faultproxy.Proxy
	direct      *redis.Client
	name, token string
	own         *rlock.Client // of lock
	lock, rival *rlock.Lock
	fence       int64 // of the last hold that was seen
	newest      int64 // that was reserved with it
	id          string

	mu      sync.Mutex // guards the rest
	renewed int
	lost    []error
}

func newOnceLab(t *testing.T) *onceLab {
	t.Helper()
	server := redistest.Shared(t)
	name := redistest.Key(t)
	l := &onceLab{
		T: t, proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t),
		name: name, token: "redisson_lock_token:{" + name + "}",
	}
	l.own = l.client(l.proxy.Addr())
	l.lock = rlock.New(l.own, name)
	l.rival = rlock.New(l.client(server.Addr()), name, rlock.FixedLease(onceLease-time.Second))
	l.loadScripts()
	// The first request of a client is answered with the server's time only. Not the one under test.
	for _, lock := range []*rlock.Lock{l.lock, l.rival} {
		require.NoError(t, lock.Do(t.Context(), func(ctx context.Context) error {
			held, err := lock.Held(ctx)
			l.fence = held.Fence
			return err
		}))
	}
	return l
}

func (l *onceLab) client(addr string) *rlock.Client {
	l.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	c, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: onceLease, Logger: slog.New(slog.DiscardHandler), Observer: &rlock.Observer{
			Renewed: func(r rlock.Renewal) {
				if r.Err == nil {
					l.note(func() { l.renewed++ })
				}
			},
			Lost: func(err *rlock.LostError) { l.note(func() { l.lost = append(l.lost, err) }) },
		},
	})
	require.NoError(l, err)
	l.Cleanup(func() {
		assert.NoError(l, c.Close(), "everything was unlocked")
		_ = rdb.Close()
	})
	return c
}

// loadScripts has Redis know every script, so that none is sent twice for being unknown.
func (l *onceLab) loadScripts() {
	l.Helper()
	ctx, key := l.Context(), l.name+":scratch"
	var errs []error
	_, err := luacall.Adopt(luacall.AdoptArgs{Lock: key, From: "a:1", To: "a:2", Lease: 1000}).Run(ctx, l.direct)
	errs = append(errs, err)
	_, err = luacall.Levels(key, "a:1", 1, 2).Run(ctx, l.direct)
	errs = append(errs, err)
	_, err = luacall.Renew([]string{key}, []string{"a:1"}, []int64{1000}).Run(ctx, l.direct)
	for _, err := range append(errs, err) {
		require.NoError(l, err)
	}
}

func (l *onceLab) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *onceLab) until(condition func() bool, message string) {
	l.Helper()
	redistest.Eventually(l, oncePatience, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return condition()
	}, message)
}

// onceHold is a hold under test.
type onceHold struct {
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
}

// take locks, bounded, and checks what came of it.
func (l *onceLab) take(lock *rlock.Lock) onceHold {
	l.Helper()
	h := l.takeOnly(lock, l.Context())
	l.fresh(h)
	return h
}

func (l *onceLab) takeOnly(lock *rlock.Lock, ctx context.Context) onceHold {
	l.Helper()
	limit := time.AfterFunc(oncePatience, func() { l.Error("Lock does not return") })
	defer limit.Stop()
	held, unlock, err := lock.Lock(ctx)
	require.NoError(l, err)
	return onceHold{lock: lock, ctx: held, unlock: unlock}
}

// fresh checks a hold that just began: one level, and a token above all before.
func (l *onceLab) fresh(h onceHold) {
	l.Helper()
	held, err := h.lock.Held(h.ctx)
	require.NoError(l, err)
	require.Greater(l, held.Fence, l.fence)
	require.NotEqual(l, l.id, held.ID)
	l.fence, l.id = held.Fence, held.ID
	l.newest, err = l.direct.Get(l.Context(), l.token).Int64()
	require.NoError(l, err)
	require.LessOrEqual(l, l.fence, l.newest)
	l.stands(h, 1)
}

// turn checks a hold that may have been passed on without a request: its token is above every earlier one, and
// was reserved by the hold that it came from.
func (l *onceLab) turn(h onceHold) {
	l.Helper()
	held, err := h.lock.Held(h.ctx)
	require.NoError(l, err)
	require.Greater(l, held.Fence, l.fence)
	l.fence = held.Fence
	stored, err := l.direct.Get(l.Context(), l.token).Int64()
	require.NoError(l, err)
	require.LessOrEqual(l, l.fence, stored)
}

// reserved has all that was reserved count as used, now that nobody can be given it any more.
func (l *onceLab) reserved() {
	l.Helper()
	var err error
	l.fence, err = l.direct.Get(l.Context(), l.token).Int64()
	require.NoError(l, err)
}

// stands checks that Redis has exactly this hold, so many levels deep, with the token that it was
// given when it began, and that its holder sees the same.
func (l *onceLab) stands(h onceHold, levels int) {
	l.Helper()
	held, err := h.lock.Held(h.ctx)
	require.NoError(l, err)
	require.NoError(l, h.ctx.Err())
	require.Equal(l, []any{l.id, l.fence, levels}, []any{held.ID, held.Fence, held.Count})
	l.until(func() bool { // the count follows behind
		return l.direct.HGet(l.Context(), l.name, held.ID).Val() == strconv.Itoa(levels)
	}, "Redis counts the levels")
	hash := l.direct.HGetAll(l.Context(), l.name).Val()
	delete(hash, held.ID+":n")
	require.Len(l, hash, 1, "%v", hash)
	l.minted()
	left := l.direct.PTTL(l.Context(), l.name).Val()
	require.Positive(l, left)
	expiry := time.Now().Add(left) // or earlier
	require.True(l, held.ValidUntil.Before(expiry), "%v, but Redis: %v", held.ValidUntil, expiry)
	if h.lock == l.rival {
		require.LessOrEqual(l, left, onceLease-time.Second, "somebody else renewed it")
	}
}

// minted checks that the newest token is the last of those that were reserved with the last hold.
func (l *onceLab) minted() {
	l.Helper()
	stored, err := l.direct.Get(l.Context(), l.token).Int64()
	require.NoError(l, err)
	require.Equal(l, l.newest, stored, "another token was minted")
}

// free checks that nobody holds the lock: at once, or, if a late request may have made a hold of
// nobody, as soon as that was reclaimed, which is long before it would expire.
func (l *onceLab) free(orphan bool) {
	l.Helper()
	if !orphan {
		require.Empty(l, l.direct.HGetAll(l.Context(), l.name).Val())
		return
	}
	redistest.Eventually(l, onceGrace, func() bool {
		return l.direct.Exists(l.Context(), l.name).Val() == 0
	}, "an orphan is reclaimed")
}

// nothingLeft checks the end of a scenario: no key but the token, and no loss on the way.
func (l *onceLab) nothingLeft() {
	l.Helper()
	keys, err := l.direct.Keys(l.Context(), "*"+l.name+"*").Result()
	require.NoError(l, err)
	scratch := l.name + ":scratch:token"
	for _, key := range keys {
		assert.Contains(l, []string{l.token, scratch}, key)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Empty(l, l.lost)
}

// passed waits until the server's clock is beyond the not-after of whatever was sent before.
func (l *onceLab) passed() {
	l.Helper()
	now := func() time.Time { return l.direct.Time(l.Context()).Val() }
	end := now().Add(onceLimit)
	redistest.Eventually(l, oncePatience, func() bool { return now().After(end) }, "time passes")
}

// releases waits until the client has sent so many releases in all. If it has no reason to, because
// what may come late is past its time, that ends with half a command's limit.
func (l *onceLab) releases(n int) {
	l.Helper()
	for end := time.Now().Add(onceLimit / 2); l.released() < n && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

func (l *onceLab) released() int {
	return l.proxy.Requests(faultproxy.Script(luacall.SHA("release")))
}
