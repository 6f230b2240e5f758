package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// R6, G2: the grant is lost, and everybody who has it learns; nobody who left before does.
func TestEveryReaderLearnsOfTheLoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose   func(l *joinLab, a *peer)
		reason rlock.LossReason
	}{
		"gone": {func(l *joinLab, _ *peer) { l.rdb.Del(l.Context(), l.name) }, rlock.LossGone},
		"broken": {func(l *joinLab, a *peer) {
			require.NoError(l, a.Read().Break(l.Context()))
		}, rlock.LossGone},
		"no renewal is answered": {func(l *joinLab, _ *peer) { l.sim.Freeze() }, rlock.LossExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				a := l.near(rlock.ClientOptions{Lease: time.Second})
				holds := l.readers(a, 4)
				inner := a.take(a.Read(), holds[1].ctx)
				holds[3].frees(t)
				holds = holds[:3]
				test.lose(l, a)
				releases := l.runs("rw_read_release")
				for _, h := range append(holds, inner) {
					var lost *rlock.LostError
					require.ErrorAs(t, h.ends(t), &lost)
					require.Equal(t, test.reason, lost.Reason)
					_, _, err := a.Read().TryLock(h.ctx)
					require.ErrorIs(t, err, rlock.ErrLost)
				}
				a.until(func() bool { return len(a.lost) == len(holds) }, "each is told of")
				for _, h := range append(holds, inner) {
					require.ErrorIs(t, h.unlock(), rlock.ErrLost)
					require.ErrorIs(t, h.unlock(), rlock.ErrNotHeld)
				}
				if test.reason == rlock.LossGone {
					require.Equal(t, releases, l.runs("rw_read_release"))
				}
				l.sim.Thaw()
				l.ends()
				a.heard(4, len(holds), 4)
			})
		})
	}
}

// A validity that is over is found out by the first that unlocks, and the others learn as well.
func TestAReaderThatLeavesTooLateTellsTheOthers(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{Lease: time.Second})
		holds := l.readers(a, 2)
		until := holds[0].known(t).ValidUntil
		l.sim.Freeze()
		time.Sleep(time.Until(until))
		for _, h := range holds {
			require.ErrorIs(t, h.unlock(), rlock.ErrLost)
			require.ErrorIs(t, context.Cause(h.ctx), rlock.ErrLost)
		}
		l.sim.Thaw()
		l.ends()
	})
}

// MaxHold is one reader's, whether it asked or joined: others stay, and the last one releases.
func TestMaxHoldEndsOneReader(t *testing.T) {
	t.Parallel()
	for name, limited := range map[string]int{"who asked": 0, "who joined": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				a := l.near(rlock.ClientOptions{})
				short := rwlock.New(a.client, l.name, rlock.MaxHold(10*time.Second)).Read()
				sides := []*rlock.Lock{a.Read(), a.Read(), a.Read()}
				sides[limited] = short
				var holds []hold
				for _, side := range sides {
					holds = append(holds, a.take(side, context.Background()))
				}
				id := holds[0].known(t).ID
				h := holds[limited]
				require.Equal(t, id, h.known(t).ID)
				inner := a.take(a.Read(), h.ctx)
				require.Equal(t, 2, inner.known(t).Count)
				others := append(holds[:limited:limited], holds[limited+1:]...)
				require.Less(t, time.Until(h.known(t).ValidUntil), time.Minute)
				require.Greater(t, time.Until(others[0].known(t).ValidUntil), time.Minute)
				for _, over := range []hold{inner, h} {
					var lost *rlock.LostError
					require.ErrorAs(t, over.ends(t), &lost)
					require.Equal(t, rlock.LossMaxHold, lost.Reason)
				}
				a.heard(3, 1, 1)
				require.Zero(t, l.releases())
				_, _, err := a.Read().TryLock(h.ctx)
				require.ErrorIs(t, err, rlock.ErrLost)
				require.ErrorIs(t, inner.unlock(), rlock.ErrLost)
				others[0].frees(t)
				others[1].known(t)
				require.Contains(t, l.hash(), id)
				others[1].frees(t)
				require.Equal(t, 1, l.releases())
				l.clean()
				require.ErrorIs(t, h.unlock(), rlock.ErrLost, "it was over before it was released")
				a.heard(3, 1, 3)
			})
		})
	}
}

// One that is the last when its time is over takes the grant with it, and nobody joins that any more.
func TestMaxHoldOfTheLastReader(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		first := a.read()
		short := a.take(rwlock.New(a.client, l.name, rlock.MaxHold(10*time.Second)).Read(), context.Background())
		require.Equal(t, first.known(t).ID, short.known(t).ID)
		first.frees(t)
		require.ErrorIs(t, short.ends(t), rlock.ErrLost)
		l.clean()
		require.ErrorIs(t, short.unlock(), rlock.ErrLost)
		a.heard(2, 1, 2)
	})
}

// R9: what is nested in a reader counts for that one. Redis sees one reader of one level.
func TestLevelsOfAReaderThatJoined(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		holds := l.readers(a, 3)
		before := l.runs()
		inner := a.take(a.Read(), context.WithoutCancel(holds[2].ctx))
		require.Equal(t, before, l.runs())
		id := inner.known(t).ID
		require.Equal(t, 2, inner.known(t).Count)
		require.Equal(t, 2, holds[2].known(t).Count)
		require.Equal(t, 1, holds[0].known(t).Count)
		time.Sleep(time.Second)
		require.Equal(t, "1", l.hash()[id])
		require.Empty(t, l.rdb.Keys(t.Context(), l.holdKey(id, "2")).Val())
		holds[0].frees(t)
		holds[2].frees(t)
		require.Equal(t, 1, inner.known(t).Count)
		inner.frees(t)
		holds[1].frees(t)
		require.Equal(t, 1, l.releases())
		l.clean()
	})
}

// The reply to the release is lost: it is asked again, and a reader that comes meanwhile does not join what may be
// gone.
func TestAReleaseWhoseReplyIsLostIsNotJoined(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		holds := l.readers(a, 2)
		id := holds[0].known(t).ID
		holds[0].frees(t)
		l.suffers("rw_read_release", simredis.CutAfter)
		done := make(chan error, 1)
		go func() { done <- holds[1].unlock() }()
		time.Sleep(ms)
		require.Empty(t, done)
		next := a.read()
		require.NotEqual(t, id, next.known(t).ID)
		l.heals()
		require.NoError(t, <-done)
		require.Greater(t, l.releases(), 1)
		require.Len(t, l.hash(), 2)
		next.frees(t)
		l.clean()
	})
}

// A context that is over joins nothing; one that ends later leaves the hold to unlock, as ever.
func TestContextsOfReadersThatJoin(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		first := a.read()
		ctx, cancel := context.WithCancel(context.Background())
		second := a.take(a.Read(), ctx)
		cancel()
		_, _, err := a.Read().Lock(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, second.ends(t), context.Canceled)
		first.frees(t)
		require.Len(t, l.hash(), 2, "it holds until its unlock")
		require.NoError(t, second.unlock())
		l.clean()
	})
}

// Those that wait here go first: a writer, and a reader that Redis told to wait for a writer of another process.
func TestAReaderThatWouldOvertakeDoesNotJoin(t *testing.T) {
	t.Parallel()
	t.Run("a writer", func(t *testing.T) {
		t.Parallel()
		inJoinLab(t, func(t *testing.T, l *joinLab) {
			a := l.near(rlock.ClientOptions{})
			holds := l.readers(a, 2)
			writer := a.wait(a.Write())
			a.busy(a.Read())
			later := a.wait(a.Read())
			for _, h := range holds {
				require.Empty(t, writer)
				h.frees(t)
			}
			w := l.arrives(writer)
			require.Empty(t, later)
			w.frees(t)
			l.arrives(later).frees(t)
			l.clean()
		})
	})
	t.Run("a reader", func(t *testing.T) {
		t.Parallel()
		inJoinLab(t, func(t *testing.T, l *joinLab) {
			a, b := l.near(rlock.ClientOptions{}), l.near(rlock.ClientOptions{})
			holds := l.readers(a, 2)
			writer := b.wait(b.Write())
			holds = append(holds, a.read()) // it is let in as those who came before
			require.Equal(t, holds[0].known(t).ID, holds[2].known(t).ID)
			refused := a.wait(rwlock.New(a.client, l.name, rlock.FixedLease(never)).Read())
			a.busy(a.Read())
			for _, h := range holds {
				require.Empty(t, writer)
				h.frees(t)
			}
			l.arrives(writer).frees(t)
			l.arrives(refused).frees(t)
			l.clean()
		})
	})
}

// Close ends the contexts of all, and releases once.
func TestCloseWithReadersThatJoined(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		holds := l.readers(a, 3)
		require.Error(t, a.client.Close(), "one hold is left")
		for _, h := range holds {
			require.ErrorIs(t, h.ends(t), rlock.ErrClosed)
			err := h.unlock()
			require.True(t, errors.Is(err, rlock.ErrClosed), "%v", err)
		}
		l.clean()
	})
}
