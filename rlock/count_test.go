package rlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// countDeep locks a name so many levels deep, each inside the one before.
func countDeep(t *testing.T, lock *rlock.Lock, levels int) []timeHold {
	t.Helper()
	ctx := context.Background()
	var holds []timeHold
	for range levels {
		h := timeLock(t, ctx, lock)
		holds, ctx = append(holds, h), h.ctx
	}
	return holds
}

func countLeave(t *testing.T, holds []timeHold) {
	t.Helper()
	for i := len(holds) - 1; i >= 0; i-- {
		require.NoError(t, holds[i].unlock())
	}
}

// R9: three levels are two requests that anybody waits for. With the replies of all others held back for ever,
// and with none of them arriving, every Lock and every unlock returns all the same.
func TestNestedLevelsWaitForNobody(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*faultproxy.Gate) faultproxy.Action{
		"replies held back":  faultproxy.HoldReply,
		"requests held back": faultproxy.HoldRequest,
		"requests lost":      func(*faultproxy.Gate) faultproxy.Action { return faultproxy.DropRequest },
		"late copies":        faultproxy.Late,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: time.Minute})
			lock := rlock.New(client, key)
			require.NoError(t, lock.Do(t.Context(), func(context.Context) error { return nil }))
			before := conductCount(lab.proxy)
			gate := faultproxy.NewGate()
			rule := lab.on("levels", fault(gate)).Times(-1)
			holds := countDeep(t, lock, 3)
			require.Equal(t, 3, timeHeld(t, holds[2].ctx, lock).Count)
			rule.Wait(t, 1)
			countLeave(t, holds)
			require.False(t, lab.direct.Exists(t.Context(), key).Val() == 1, "it is released, whatever is on its way")
			sent := conductCount(lab.proxy)
			require.Equal(t, 2, sent.acquire+sent.release-before.acquire-before.release)
			next := timeLock(t, t.Context(), rlock.New(timeClient(t, lab.server.Addr(), rlock.ClientOptions{}), key))
			gate.Open()
			if name == "late copies" {
				timeReceive(t, gate.Delivered(), "the late copy")
			}
			require.Equal(t, int64(1), lab.direct.HLen(t.Context(), key).Val())
			require.NoError(t, next.unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// A short level costs no request; the count of levels that stay is sent in one, however much changed meanwhile.
func TestTheCountFollowsBehind(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		lock := rlock.New(client, "order")
		warm := sim.count("levels")
		for range 100 {
			countLeave(t, countDeep(t, lock, 3))
		}
		time.Sleep(time.Second)
		require.Equal(t, warm, sim.count("levels"))

		holds := countDeep(t, lock, 5)
		id := timeHeld(t, holds[4].ctx, lock).ID
		count := func() string { return sim.Miniredis().HGet("order", id) }
		require.Equal(t, "1", count())
		ttl := sim.Miniredis().TTL("order")
		time.Sleep(30 * time.Millisecond)
		require.Equal(t, "5", count())
		require.LessOrEqual(t, sim.Miniredis().TTL("order"), ttl, "it sets no TTL")
		require.Equal(t, warm+1, sim.count("levels"))
		countLeave(t, holds[2:])
		time.Sleep(30 * time.Millisecond)
		require.Equal(t, "2", count())
		require.Equal(t, warm+2, sim.count("levels"))
		countLeave(t, holds[:2])
		time.Sleep(time.Second)
		require.Equal(t, warm+2, sim.count("levels"))
		require.False(t, sim.holds("order"))
	})
}

// While Redis does not take it, the count is sent again, at most as often as a hold is renewed in the long run, and
// by one request at a time. When the hold is over that ends.
func TestTheCountIsTriedAgainWhileTheHoldLives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
		lock := rlock.New(client, "order")
		sim.suffer(timeOnly("levels", simredis.CutAfter))
		warm := sim.count("levels")
		holds := countDeep(t, lock, 2)
		time.Sleep(10 * time.Second)
		sent := sim.count("levels") - warm
		require.GreaterOrEqual(t, sent, 10)
		require.LessOrEqual(t, sent, 20)
		require.NoError(t, holds[1].ctx.Err(), "it is no loss")
		sim.suffer(timeOnly("levels", simredis.DropRequest))
		time.Sleep(time.Second)
		require.NoError(t, holds[1].unlock())
		sim.suffer(nil)
		time.Sleep(5 * time.Second)
		require.Equal(t, "1", sim.Miniredis().HGet("order", timeHeld(t, holds[0].ctx, lock).ID), "nobody knew what it was")
		sim.suffer(timeOnly("levels", simredis.CutAfter))
		inner := timeLock(t, holds[0].ctx, lock)
		time.Sleep(time.Second)
		require.NoError(t, inner.unlock())
		require.NoError(t, holds[0].unlock())
		sent = sim.count("levels")
		time.Sleep(10 * time.Second)
		require.Equal(t, sent, sim.count("levels"))
	})
}

// The count learns that the hold is gone, and the holder is told.
func TestACountThatFindsNoHoldIsALoss(t *testing.T) {
	t.Parallel()
	lab, key := newTimeLab(t), "order"
	client := lab.client(t, rlock.ClientOptions{Lease: 10 * time.Minute})
	lock := rlock.New(client, key)
	outer := timeLock(t, t.Context(), lock)
	require.NoError(t, lab.direct.Del(t.Context(), key).Err())
	inner := timeLock(t, outer.ctx, lock)
	timeLost(t, timeOver(t, outer.ctx), rlock.LossGone)
	timeLost(t, inner.unlock(), rlock.LossGone)
	timeLost(t, outer.unlock(), rlock.LossGone)
}

// countLine queues two callers behind a hold that a third one takes from Redis, in virtual time, so that there are
// tokens to spare.
func countLine(t *testing.T, lock *rlock.Lock) (first timeHold, second, third <-chan timeHold) {
	t.Helper()
	var line [3]chan timeHold
	blocker := timeLock(t, t.Context(), lock)
	for i := range line {
		line[i] = make(chan timeHold, 1)
		go func() {
			held, unlock, err := lock.Lock(context.Background())
			if err != nil { // a test that has failed may be over by now, so its unlock says so
				held, unlock = t.Context(), func() error { return err }
			}
			line[i] <- timeHold{held, unlock}
		}()
		synctest.Wait()
	}
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, blocker.unlock())
	return <-line[0], line[1], line[2]
}

// R3, R9: a hold that was nested passes on in memory when every step of its levels is settled. The next turn has one
// level, which Redis is told.
func TestANestedHoldIsPassedOnWhenItsCountIsSettled(t *testing.T) {
	t.Parallel()
	const told = 22 * time.Millisecond // two such stays do not outlast a run
	for name, stay := range map[string][2]time.Duration{
		"Redis never learned of the levels": {0, 0},
		"Redis still has the count of two":  {told, 0},
		"Redis has the right count again":   {told, told},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order")
				first, second, third := countLine(t, lock)
				granted := timeHeld(t, first.ctx, lock)
				inner := timeLock(t, first.ctx, lock)
				time.Sleep(stay[0])
				require.NoError(t, inner.unlock())
				time.Sleep(stay[1])
				released := sim.count("release")
				require.NoError(t, first.unlock())
				next := <-second
				require.Equal(t, released, sim.count("release"))
				require.Equal(t, granted.ID, timeHeld(t, next.ctx, lock).ID)
				require.Equal(t, 1, timeHeld(t, next.ctx, lock).Count)
				time.Sleep(told)
				count := func() string { return sim.Miniredis().HGet("order", granted.ID) }
				require.Equal(t, "1", count())
				if stay[0] > 0 {
					stands, err := luacall.Levels("order", granted.ID, 1, 2).Run(t.Context(), sim.Client())
					require.NoError(t, err)
					require.EqualValues(t, 2, stands, "a copy of an old step: the next one sets it right")
				}
				again := timeLock(t, next.ctx, lock)
				time.Sleep(told)
				require.Equal(t, "2", count())
				require.NoError(t, again.unlock())
				time.Sleep(told)
				require.NoError(t, next.unlock())
				require.NoError(t, (<-third).unlock())
				require.False(t, sim.holds("order"))
			})
		})
	}
}

// An export takes the hold along without what is left of its levels.
func TestAnExportOfAHoldThatWasNested(t *testing.T) {
	t.Parallel()
	for name, fault := range leaseCopies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab, key := newTimeLab(t), "order"
			client := lab.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
			lock := rlock.New(client, key)
			outer := timeLock(t, t.Context(), lock)
			gate := faultproxy.NewGate()
			rule := lab.on("levels", fault(gate))
			inner := timeLock(t, outer.ctx, lock)
			rule.Wait(t, 1)
			require.NoError(t, inner.unlock())
			passport, err := lock.Export(outer.ctx)
			require.NoError(t, err)
			gate.Open()
			timeReceive(t, gate.Delivered(), "the count")
			ctx, unlock, err := lock.Import(t.Context(), passport)
			require.NoError(t, err)
			require.Equal(t, map[string]string{timeHeld(t, ctx, lock).ID: "1"}, lab.direct.HGetAll(t.Context(), key).Val())
			require.NoError(t, unlock())
			timeGone(t, lab.direct, key)
		})
	}
}

// A user without the right to HINCRBY has Redis count one level, and loses nothing else: the refused step is not repeated,
// and the lock passes on in memory.
func TestACountThatIsRefusedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	l := newPassLab(t)
	first, waiting := l.begin(nil, nil)
	require.NoError(t, l.rdb.Do(t.Context(), "ACL", "SETUSER", "default", "-hincrby").Err())
	_, leave := conductTake(t, first.ctx, l.lock)
	renewals := l.proxy.On(conductScript("renew"), faultproxy.Pass).Times(-1)
	renewals.Wait(t, 1)
	sent := l.proxy.Requests(conductScript("levels"))
	require.Positive(t, sent)
	renewals.Wait(t, 3)
	require.Equal(t, sent, l.proxy.Requests(conductScript("levels")))
	granted := l.held(first)
	require.Equal(t, 2, granted.Count)
	info, err := l.lock.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	require.Equal(t, 1, info.Holders[0].Count)
	require.NoError(t, leave())
	require.NoError(t, first.unlock())
	next := l.line.in(t, waiting[0])
	require.Equal(t, granted.ID, l.held(next).ID)
	require.NoError(t, next.unlock())
	l.free()
}
