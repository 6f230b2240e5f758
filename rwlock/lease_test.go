package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// ttl is what Redis says is left of a key.
func (l *lab) ttl(key string) time.Duration {
	l.Helper()
	return l.rdb.PTTL(context.Background(), key).Val()
}

// Bug 45, needs 19: no reader's lease shortens another's, neither when it comes nor when it goes.
func TestReadersLeasesAreTheirOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	long := l.peer(rlock.ClientOptions{}, rlock.FixedLease(time.Minute))
	short := l.peer(rlock.ClientOptions{}, rlock.FixedLease(3*time.Second))
	first := long.read()
	second := short.read()
	require.Greater(t, l.ttl(l.name), 50*time.Second)
	require.Greater(t, l.ttl(l.holdKey(first.known(t).ID, "1")), 50*time.Second)
	require.LessOrEqual(t, l.ttl(l.holdKey(second.known(t).ID, "1")), 3*time.Second)
	inner := short.take(short.Read(), second.ctx)
	inner.frees(t)
	second.frees(t)
	require.Greater(t, l.ttl(l.name), 50*time.Second)
	require.NoError(t, first.ctx.Err())
	first.frees(t)
	l.clean()
}

// Redisson's D3: a short read hold inside a long write hold.
func TestANestedReadDoesNotShortenTheWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	brief := rwlock.New(a.client, l.name, rlock.FixedLease(time.Second)).Read()
	w := a.take(rwlock.New(a.client, l.name, rlock.FixedLease(time.Minute)).Write(), context.Background())
	r := a.take(brief, w.ctx)
	again := a.take(brief, r.ctx)
	again.frees(t)
	require.Greater(t, l.ttl(l.name), 50*time.Second)
	r.frees(t)
	require.Greater(t, l.ttl(l.name), 50*time.Second)
	w.frees(t)
	l.clean()
}

// A short read hold inside a write hold that runs out is lost alone.
func TestANestedReadIsLostAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	w := a.write()
	r := a.take(rwlock.New(a.client, l.name, rlock.FixedLease(200*time.Millisecond)).Read(), w.ctx)
	require.ErrorIs(t, r.ends(t), rlock.ErrLost)
	require.NoError(t, w.ctx.Err())
	require.ErrorIs(t, r.unlock(), rlock.ErrLost)
	b.busy(b.Read())
	redistest.Eventually(t, patience, func() bool { return len(l.hash()) == 2 }, "the field stays")
	w.frees(t)
	b.write().frees(t)
	l.clean()
}

// Redisson's D2, bug 45: whatever is released first, the other is renewed on, for many leases.
func TestNestedHoldsAreRenewedWhicheverIsReleased(t *testing.T) {
	t.Parallel()
	for what, first := range map[string]func(w, r hold) (over, rest hold){
		"read":  func(w, r hold) (over, rest hold) { return r, w },
		"write": func(w, r hold) (over, rest hold) { return w, r },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			const lease = 900 * time.Millisecond
			l := newLab(t)
			a, b := l.peer(rlock.ClientOptions{Lease: lease}), l.peer(rlock.ClientOptions{})
			w := a.write()
			over, rest := first(w, a.take(a.Read(), context.WithoutCancel(w.ctx)))
			a.renewals(8)
			over.frees(t)
			a.renewals(9) // three leases
			rest.known(t)
			b.busy(b.Write())
			rest.frees(t)
			l.clean()
		})
	}
}

// Redis forgot a hold key: the reader learns of it with its next renewal, and nothing brings it back.
func TestAHoldKeyThatIsGoneIsALoss(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{Lease: 900 * time.Millisecond}), l.peer(rlock.ClientOptions{})
	gone, stays := a.read(), l.peer(rlock.ClientOptions{}).read()
	l.rdb.Del(t.Context(), l.holdKey(gone.known(t).ID, "1"))
	require.ErrorIs(t, gone.ends(t), rlock.ErrLost)
	require.ErrorIs(t, gone.unlock(), rlock.ErrLost)
	stays.known(t)
	b.busy(b.Write())
	stays.frees(t)
	b.write().frees(t)
}

// Redis restarts empty: both sides learn of it, and the next tokens are above the old ones.
func TestARestartThatForgotEverything(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := labOn(t, server)
	a := l.peer(rlock.ClientOptions{Lease: 1500 * time.Millisecond})
	w := a.write()
	fence := w.known(t).Fence
	r := a.take(a.Read(), context.WithoutCancel(w.ctx))
	server.Kill()
	server.Restart()
	for _, h := range []hold{w, r} {
		require.ErrorIs(t, h.ends(t), rlock.ErrLost)
		require.ErrorIs(t, h.unlock(), rlock.ErrLost)
	}
	b := l.peer(rlock.ClientOptions{Lease: 3 * time.Second, MaxPoll: 100 * time.Millisecond})
	redistest.Eventually(t, patience, func() bool {
		_, unlock, err := b.Write().TryLock(context.Background())
		if err == nil {
			err = unlock()
		}
		return err == nil
	}, "the lock cannot be had")
	again := b.write()
	require.Greater(t, again.known(t).Fence, fence)
	again.frees(t)
	l.clean()
}

// The tokens of readers do not fall either when Redis loses its data: what one read is not taken for older than what
// a writer wrote before (defect G46).
func TestReadersTokensDoNotFallWhenTheDataIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := labOn(t, server)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	w := a.write()
	last := w.known(t).Fence
	w.frees(t)
	for range 3 {
		server.FlushAll(t)
		r, other := a.read(), b.read()
		first := r.known(t).Fence
		require.Greater(t, first, last)
		require.Equal(t, first, other.known(t).Fence)
		r.frees(t)
		other.frees(t)
		w = b.write()
		last = w.known(t).Fence
		require.Greater(t, last, first)
		w.frees(t)
	}
}
