package rwlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

func TestManyReadersOrOneWriter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	holds := []hold{a.read(), b.read(), c.read()}
	for _, p := range []*peer{a, b} {
		p.busy(p.Write())
	}
	require.Len(t, l.hash(), 4, "each hold is its own")
	for _, h := range holds {
		h.frees(t)
	}
	w := b.write()
	for _, p := range []*peer{a, b} {
		p.busy(p.Write())
		p.busy(p.Read())
	}
	w.frees(t)
	l.clean()
}

func TestBothSidesAreReentrant(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	for _, lock := range []*rlock.Lock{a.Read(), a.Write()} {
		outer := a.take(lock, context.Background())
		inner := a.take(lock, outer.ctx)
		third := a.take(lock, inner.ctx)
		require.Equal(t, 3, third.known(t).Count)
		require.Equal(t, outer.known(t).ID, third.known(t).ID)
		inner.frees(t)
		third.frees(t)
		require.Equal(t, 1, outer.known(t).Count)
		b.busy(b.Write())
		outer.frees(t)
		l.clean()
	}
}

// A writer that reads has two holds, each with an id of its own. Whichever goes first, the other stands.
func TestAWriterMayRead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	w := a.write()
	r := a.take(a.Read(), w.ctx)
	require.NotEqual(t, w.known(t).ID, r.known(t).ID)
	require.Equal(t, w.known(t).Fence, r.known(t).Fence)
	_, err := a.Write().Held(r.ctx)
	require.NoError(t, err, "the context carries both")
	again := a.take(a.Write(), r.ctx)
	require.Equal(t, 2, again.known(t).Count, "the write hold is re-entered, through the read hold")
	again.frees(t)
	b.busy(b.Read())
	r.frees(t)
	b.busy(b.Read())
	require.Equal(t, 1, w.known(t).Count)
	w.frees(t)
	l.clean()
}

// Bug 45, Redisson's D32: a writer that keeps its read hold lets waiting readers in when it unlocks, and no
// writer before the last of them left.
func TestDowngradeWakesReadersAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	w := a.write()
	r := a.take(a.Read(), context.WithoutCancel(w.ctx)) // which ends with the write hold
	there, here := b.wait(b.Read()), a.wait(a.Read())
	l.listened()
	w.frees(t)
	inThere, inHere := l.arrives(there), l.arrives(here)
	b.busy(b.Write())
	for _, h := range []hold{inThere, inHere, r} {
		h.frees(t)
	}
	l.clean()
}

// An upgrade would wait for itself, or for another that waits for it.
func TestUpgradeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	r := a.read()
	for _, lock := range []func(context.Context) (context.Context, func() error, error){
		a.Write().Lock, a.Write().TryLock,
	} {
		ctx, unlock, err := lock(r.ctx)
		require.ErrorIs(t, err, rwlock.ErrUpgrade)
		require.NotErrorIs(t, err, rlock.ErrBusy)
		require.Equal(t, r.ctx, ctx)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
	err := a.Write().Do(r.ctx, func(context.Context) error { t.Error("inside"); return nil })
	require.ErrorIs(t, err, rwlock.ErrUpgrade)
	require.NoError(t, r.ctx.Err())

	another := rwlock.New(a.client, l.name+":another")
	require.NoError(t, another.Write().Do(r.ctx, func(context.Context) error { return nil }))
	_, _, err = a.Write().TryLock(rlock.WithoutHolds(r.ctx))
	require.ErrorIs(t, err, rlock.ErrBusy, "without the hold it is anybody's attempt")
	r.frees(t)
	a.write().frees(t)
	l.clean()
}

// After a downgrade the context carries a read hold and no write hold any more.
func TestUpgradeAfterADowngradeIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	r := a.take(a.Read(), context.WithoutCancel(w.ctx))
	w.frees(t)
	_, _, err := a.Write().TryLock(r.ctx)
	require.ErrorIs(t, err, rwlock.ErrUpgrade)
	more := a.take(a.Read(), r.ctx)
	require.Equal(t, 2, more.known(t).Count)
	more.frees(t)
	r.frees(t)
	l.clean()
}

func TestWritersTokensGrowAndReadersCarryTheLast(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	last := first.known(t).Fence
	require.Positive(t, last, "from the clock: nobody wrote")
	first.frees(t)
	for i := range 6 {
		p := []*peer{a, b}[i%2]
		w := p.write()
		require.Greater(t, w.known(t).Fence, last)
		last = w.known(t).Fence
		w.frees(t)
		r := p.read()
		require.Equal(t, last, r.known(t).Fence)
		r.frees(t)
	}
}

// Writers of one process hand the lock on; one with a read hold inside cannot, and releases (G8).
func TestWritersHandOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	second, third := a.wait(a.Write()), a.wait(a.Write())
	before := w.known(t).Fence
	w.frees(t)
	w = l.arrives(second)
	require.Greater(t, w.known(t).Fence, before)
	require.Len(t, l.hash(), 2)

	r := a.take(a.Read(), w.ctx)
	require.NoError(t, w.unlock())
	require.NotContains(t, l.hash(), w.lock.Name()+":write")
	require.Equal(t, "read", l.hash()["mode"])
	require.Empty(t, third, "the read hold stands")
	require.NoError(t, r.unlock())
	l.arrives(third).frees(t)
	l.clean()
}

func TestReadersWakeTogether(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	var waiting []<-chan hold
	for i := range 12 {
		p := a
		if i%2 == 0 {
			p = l.peer(rlock.ClientOptions{})
		}
		waiting = append(waiting, p.wait(p.Read()))
	}
	l.listeners(6)
	w.frees(t)
	var in []hold
	for _, c := range waiting {
		in = append(in, l.arrives(c))
	}
	for _, h := range in {
		h.known(t) // all at the same time
		h.frees(t)
	}
	l.clean()
}
