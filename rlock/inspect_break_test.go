package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// inspectNext starts one Lock and returns its hold when it comes.
func inspectNext(t *testing.T, l *rlock.Lock) <-chan timeHold {
	t.Helper()
	got := make(chan timeHold, 1)
	go func() {
		ctx, unlock, err := l.Lock(context.Background())
		if err != nil {
			t.Errorf("the next in line: %v", err)
		}
		got <- timeHold{ctx, unlock}
	}()
	return got
}

func TestBreakOfAFreeLock(t *testing.T) {
	t.Parallel()
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{})
	require.ErrorIs(t, rlock.New(client, redistest.Key(t)).Break(t.Context()), rlock.ErrNotHeld)
}

// Interleaving 5: the context of a holder of the same client ends before Redis is told.
func TestBreakOfTheClientsOwnHoldEndsItsContextFirst(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	lock := rlock.New(lab.client(t, rlock.ClientOptions{Lease: 30 * time.Second}), key)
	outer := timeLock(t, t.Context(), lock)
	inner := timeLock(t, outer.ctx, lock)
	gate := faultproxy.NewGate()
	rule := lab.on("release", faultproxy.HoldRequest(gate))
	broken := make(chan error, 1)
	go func() { broken <- lock.Break(t.Context()) }()
	rule.Wait(t, 1)
	timeLost(t, context.Cause(outer.ctx), rlock.LossGone)
	timeLost(t, context.Cause(inner.ctx), rlock.LossGone)
	require.Equal(t, int64(1), lab.direct.Exists(t.Context(), key).Val())
	gate.Open()
	require.NoError(t, timeReceive(t, broken, "the end of Break"))
	timeGone(t, lab.direct, key)
	timeLost(t, inner.unlock(), rlock.LossGone)
	timeLost(t, outer.unlock(), rlock.LossGone)
	require.ErrorIs(t, outer.unlock(), rlock.ErrNotHeld)
}

// Need 24: the holder elsewhere learns within a renewal period, and the next holder
// has a higher token.
func TestBreakOfAnotherClientsHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Key(t)
	a := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 3 * time.Second})
	b := timeClient(t, server.Addr(), rlock.ClientOptions{})
	lock := rlock.New(a, key)
	hold := timeLock(t, t.Context(), lock)
	held := timeHeld(t, hold.ctx, lock)
	require.NoError(t, rlock.New(b, key).Break(t.Context()))
	next := timeLock(t, t.Context(), rlock.New(b, key))
	require.Greater(t, timeHeld(t, next.ctx, rlock.New(b, key)).Fence, held.Fence)
	// Not by the end of its validity, which would read LossExpired.
	timeLost(t, timeOver(t, hold.ctx), rlock.LossGone)
	require.Less(t, time.Now(), held.ValidUntil)
	timeLost(t, hold.unlock(), rlock.LossGone)
	require.NoError(t, next.ctx.Err())
	require.NoError(t, next.unlock())
}

// The message wakes every waiter: no poll is due for an hour.
func TestBreakWakesWaitersAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Key(t)
	inspectForeign(t, key, 2, time.Hour)
	patient := rlock.ClientOptions{MaxPoll: time.Hour}
	a, b := timeClient(t, server.Addr(), patient), timeClient(t, server.Addr(), patient)
	operator := rlock.New(timeClient(t, server.Addr(), rlock.ClientOptions{}), key)
	one, two := inspectNext(t, rlock.New(a, key)), inspectNext(t, rlock.New(b, key))
	inspectSees(t, operator, 2)
	require.NoError(t, operator.Break(t.Context()))
	for range 2 {
		select {
		case h := <-one:
			require.NoError(t, h.unlock())
		case h := <-two:
			require.NoError(t, h.unlock())
		case <-time.After(timeLimit):
			t.Fatal("the waiters were not woken")
		}
	}
}

// Waiters of the same process stand behind the local hold, and ask Redis nothing until it is gone (G6).
func TestBreakLetsALocalWaiterIn(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{MaxPoll: time.Hour})
	lock := rlock.New(client, redistest.Key(t))
	hold := timeLock(t, t.Context(), lock)
	next := inspectNext(t, lock)
	inspectSees(t, lock, 1)
	require.NoError(t, lock.Break(t.Context()))
	h := timeReceive(t, next, "the lock")
	timeLost(t, hold.unlock(), rlock.LossGone)
	require.NoError(t, h.ctx.Err(), "the lost hold's unlock is none of its business")
	require.NoError(t, h.unlock())
}

func TestBreakOfAnExportedHold(t *testing.T) {
	t.Parallel()
	a, b, key := transferPair(t)
	hold := timeLock(t, t.Context(), rlock.New(a, key))
	token, err := rlock.New(a, key).Export(hold.ctx)
	require.NoError(t, err)
	require.NoError(t, rlock.New(b, key).Break(t.Context()))
	_, _, err = rlock.New(b, key).Import(t.Context(), token)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
}

// The request that breaks is lost, repeated or late, and the lock is another's by the time it comes
// again: that hold is not touched.
func TestResentBreakHarmsNoLaterHold(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"reply lost": func(*faultproxy.Gate) faultproxy.Action { return faultproxy.DropReply },
		"cut after":  func(*faultproxy.Gate) faultproxy.Action { return faultproxy.CutAfter },
		"sent twice": func(*faultproxy.Gate) faultproxy.Action { return faultproxy.Duplicate },
		"a copy comes late": func(gate *faultproxy.Gate) faultproxy.Action {
			return faultproxy.DuplicateLater(gate)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			operator := rlock.New(lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second}), key)
			owner := rlock.New(lab.outside(t, rlock.ClientOptions{}), key)
			other := rlock.New(lab.outside(t, rlock.ClientOptions{MaxPoll: time.Hour}), key)
			hold := timeLock(t, t.Context(), owner)
			next := inspectNext(t, other)
			inspectSees(t, operator, 1)
			gate := faultproxy.NewGate()
			rule := lab.on("release", fault(gate))
			broken := make(chan error, 1)
			go func() { broken <- operator.Break(t.Context()) }()
			rule.Wait(t, 1)
			h := timeReceive(t, next, "the lock, while Break is still at it")
			require.NoError(t, timeReceive(t, broken, "the end of Break"))
			gate.Open()
			if name == "a copy comes late" {
				timeReceive(t, gate.Delivered(), "the copy")
			}
			id := timeHeld(t, h.ctx, other).ID
			timeCounts(t, lab.direct, key, id, 1)
			require.NoError(t, h.unlock())
			timeLost(t, hold.unlock(), rlock.LossGone)
		})
	}
}

// Between the look and the release the lock changes hands: the new holder is not harmed.
func TestBreakDoesNotHarmWhoCameToHoldMeanwhile(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	operator := rlock.New(lab.client(t, rlock.ClientOptions{Lease: 30 * time.Second}), key)
	owner := rlock.New(lab.outside(t, rlock.ClientOptions{}), key)
	hold := timeLock(t, t.Context(), owner)
	gate := faultproxy.NewGate()
	rule := lab.on("release", faultproxy.HoldRequest(gate))
	broken := make(chan error, 1)
	go func() { broken <- operator.Break(t.Context()) }()
	rule.Wait(t, 1)
	require.NoError(t, hold.unlock())
	next := timeLock(t, t.Context(), owner)
	gate.Open()
	require.NoError(t, timeReceive(t, broken, "the end of Break"))
	timeCounts(t, lab.direct, key, timeHeld(t, next.ctx, owner).ID, 1)
	require.NoError(t, next.unlock())
}
