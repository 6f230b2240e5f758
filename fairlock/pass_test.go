package fairlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// run has a run of turns begin: a rival lets go for whom waiters stand in the queue, and the first of them is in
// then. Several turns of one hold have one id.
func (l *lab) run(rival hold, waiting ...<-chan hold) hold {
	l.Helper()
	rival.frees(l)
	return l.arrives(waiting[0])
}

// The lock passes to the waiters of its process in their order, as far as they stand next in Redis's queue: one of
// another process that stands between them has its turn in between.
func TestPassingKeepsTheOrderOfTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	for range 20 { // the machine may be so slow that nothing is passed
		first := rival.take()
		line := []<-chan hold{a.wait(), a.wait(), a.wait(), b.wait(), a.wait()}
		h := l.run(first, line...)
		ids, fence := []string{h.known(l).ID}, h.known(l).Fence
		for i, c := range line[1:] {
			for _, later := range line[i+1:] {
				require.Empty(l, later)
			}
			h.frees(l)
			h = l.arrives(c)
			require.Greater(l, h.known(l).Fence, fence)
			ids, fence = append(ids, h.known(l).ID), h.known(l).Fence
		}
		h.frees(l)
		l.clean()
		require.NotEqual(l, ids[2], ids[3])
		require.NotEqual(l, ids[2], ids[4], "its hold ended before the one of the other process")
		if ids[0] == ids[1] && ids[1] == ids[2] {
			return
		}
	}
	t.Fatal("nothing was passed")
}

// passed has a run begin, and its first turn pass.
func (l *lab) passed(a, rival *peer, more int) (hold, []<-chan hold) {
	l.Helper()
	for range 20 {
		first := rival.take()
		line := []<-chan hold{a.wait(), a.wait()}
		for range more {
			line = append(line, a.wait())
		}
		h := l.run(first, line...)
		id := h.known(l).ID
		h.frees(l)
		if h = l.arrives(line[1]); h.known(l).ID == id {
			return h, line[2:]
		}
		l.inOrder(h, line[2:]...)
		l.clean()
	}
	l.Fatal("nothing was passed")
	return hold{}, nil
}

// A waiter that leaves though it was counted has no turn, and leaves nothing behind.
func TestOneThatWasCountedLeaves(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := rival.take()
	ctx, cancel := context.WithCancel(context.Background())
	line := []<-chan hold{a.wait(), a.waitWith(ctx), a.wait()}
	h := l.run(first, line...)
	cancel()
	require.ErrorIs(l, l.ended(line[1]), context.Canceled)
	l.inOrder(h, line[2])
	l.clean()
}

// The hold is deleted in the middle of a run: the holder of the turn learns of it, and of those who had theirs no place
// stays behind in the queue. The others wait in it as before.
func TestLossInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{Lease: 1500 * time.Millisecond, MaxPoll: 500 * time.Millisecond}
	a, rival := l.peer(opts), l.peer(opts)
	h, rest := l.passed(a, rival, 1)
	require.NoError(t, l.rdb.Del(context.Background(), l.name).Err())
	require.ErrorIs(t, h.ends(t), rlock.ErrLost)
	require.ErrorIs(t, h.unlock(), rlock.ErrLost)
	l.inOrder(l.arrives(rest[0]))
	l.clean()
}

// The hold is broken during a run, and Redis gives the lock to the places of those who had their turns: the last
// turn of the run gives it on, and the next waiter is told at once (defect F9).
func TestABreakDuringARunLeavesNothingToThoseWhoHadTheirTurns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	rival := l.peer(rlock.ClientOptions{})
	for range 20 { // the machine may be so slow that the places are gone
		proxy := faultproxy.Start(t, l.server.Addr())
		a := l.peerAt(proxy.Addr(), rlock.ClientOptions{})
		h, rest := l.passed(a, rival, 1)
		h.frees(t)
		h = l.arrives(rest[0])
		gate := faultproxy.NewGate()
		proxy.On(faultproxy.Script(luacall.SHA("fair_release")), faultproxy.HoldRequest(gate)).Times(-1)
		served := l.places()
		if len(served) != 2 {
			gate.Open()
			h.frees(t)
			l.clean()
			continue
		}
		next := rival.wait()
		for _, id := range served {
			require.NoError(t, rival.Break(context.Background()))
			require.Equal(t, map[string]string{id: "1000000000"}, l.rdb.HGetAll(context.Background(), l.name).Val())
		}
		gate.Open()
		require.ErrorIs(t, h.unlock(), rlock.ErrLost)
		l.arrives(next).frees(t)
		l.clean()
		return
	}
	t.Fatal("nothing was passed, or the places went at once")
}

// A hold that was passed on is exported: the places of those who had their turns go, the hold stays.
func TestExportInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	h, _ := l.passed(a, rival, 0)
	passage, err := a.Export(h.ctx)
	require.NoError(t, err)
	l.queued(0)
	held, unlock, err := rival.Import(context.Background(), passage)
	require.NoError(t, err)
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	l.clean()
}

// Close in the middle of a run leaves nothing that others wait for.
func TestCloseInTheMiddleOfARun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	h, rest := l.passed(a, rival, 1)
	behind := rival.wait()
	_ = a.client.Close()
	require.ErrorIs(t, l.ended(rest[0]), rlock.ErrClosed)
	require.Error(t, h.ctx.Err())
	l.inOrder(l.arrives(behind))
	l.clean()
}

// A hold that lasts for a time only and one that was limited are released where others, side by side with them, are
// passed on.
func TestWhatIsNotPassedOn(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rlock.Option{
		"limited": {rlock.MaxHold(never)},
		"fixed":   {rlock.FixedLease(never)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			a, rival := l.peer(rlock.ClientOptions{}, opts...), l.peer(rlock.ClientOptions{})
			control := newLab(t)
			b, other := control.peer(rlock.ClientOptions{}), control.peer(rlock.ClientOptions{})
			for passed := 0; passed < 3; {
				require.False(t, l.passesOnce(a, rival))
				if control.passesOnce(b, other) {
					passed++
				}
			}
		})
	}
}

// passesOnce reports whether the first two turns of waiters of one process were of one hold.
func (l *lab) passesOnce(a, rival *peer) bool {
	l.Helper()
	first := rival.take()
	line := []<-chan hold{a.wait(), a.wait()}
	h := l.run(first, line...)
	before := h.known(l)
	h.frees(l)
	h = l.arrives(line[1])
	after := h.known(l)
	require.Greater(l, after.Fence, before.Fence)
	h.frees(l)
	l.clean()
	return before.ID == after.ID
}

// A nested level keeps the lock from the next one, and is not passed on with it.
func TestNestedLevelsAreNotPassedOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, rival := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := rival.take()
	line := []<-chan hold{a.wait(), a.wait()}
	h := l.run(first, line...)
	inner, unlock, err := a.Lock.Lock(h.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, hold{lock: a.Lock, ctx: inner}.known(t).Count)
	h.frees(t)
	require.Empty(t, line[1])
	require.NoError(t, unlock())
	h = l.arrives(line[1])
	known := h.known(t)
	require.Equal(t, 1, known.Count)
	redistest.Eventually(t, patience, func() bool {
		return l.rdb.HGet(context.Background(), l.name, known.ID).Val() == "1"
	}, "Redis has another count")
	h.frees(t)
	l.clean()
}
