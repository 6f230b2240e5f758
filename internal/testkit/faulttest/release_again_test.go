package faulttest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G3, G5, bugs 2, 51 and 52: a worker could not release its hold, and locks again. What it could not
// release is no hold of its own any more: it waits for it like anybody else, gets a hold of its own when
// that was made up for, and does not lose this one to the release that is late.
func TestAWorkerThatCouldNotReleaseLocksAnew(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	for fault, action := range map[string]faultproxy.Action{
		"request lost": faultproxy.DropRequest, "reply lost": faultproxy.DropReply,
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			lock := rlock.New(p.client(rlock.ClientOptions{
				Lease: faultNever, MaxPoll: faultNever, ReleaseTimeout: timeout,
			}), "worker")
			other := rlock.New(p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}), "worker")
			held, unlock := p.hold(lock)
			first, err := lock.Held(held)
			require.NoError(t, err)
			lost := p.proxy.On(faultproxy.Script(luacall.SHA("release")), action).Times(-1)
			releaseBounded(t, unlock, timeout)
			again := faultCall(t.Context(), lock.Lock)
			if fault == "request lost" {
				p.listened("worker")
				require.Empty(t, again, "it is inside a hold that it gave back")
			}
			lost.Times(0)

			g := faultAwait(t, again, faultSoon)
			require.NoError(t, g.err)
			hold, err := lock.Held(g.held)
			require.NoError(t, err)
			require.NotEqual(t, first.ID, hold.ID)
			require.Greater(t, hold.Fence, first.Fence)
			require.Equal(t, 1, hold.Count)
			stands := map[string]string{hold.ID: "1"}
			require.Equal(t, stands, p.direct.HGetAll(t.Context(), "worker").Val())
			_, _, err = other.TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.NoError(t, g.unlock(), "its own hold was there until now")
			faultEnters(t, faultCall(t.Context(), other.Lock), faultSoon)
		})
	}
}

// G3, G5, bugs 1 and 10: the server pauses all its clients for longer than a command may take, so that every
// request has to be sent again. It counts once, and a hold whose unlock fell into the pause is never
// renewed after it, so that others get in.
func TestWhatWasSentWhileTheServerPausedCountsOnce(t *testing.T) {
	t.Parallel()
	const lease, timeout = 6 * time.Second, 300 * time.Millisecond
	p := newFaultyPath(t)
	var paused, kept, losses atomic.Int64 // renewals of the two locks, and losses of any
	client := p.client(rlock.ClientOptions{Lease: lease, ReleaseTimeout: timeout, Observer: &rlock.Observer{
		Renewed: func(r rlock.Renewal) {
			switch {
			case r.Err == nil && r.Name == "paused":
				paused.Add(1)
			case r.Err == nil && r.Name == "kept":
				kept.Add(1)
			}
		},
		Lost: func(*rlock.LostError) { losses.Add(1) },
	}})
	p.warmUp(client, 1)
	lock := rlock.New(client, "paused")
	rival := rlock.New(p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}), "paused")
	pause := func() { // twice what a command may take
		require.NoError(t, p.direct.ClientPause(t.Context(), lease/3).Err())
	}
	count := func(id string) string { return p.direct.HGet(t.Context(), "paused", id).Val() }

	grants, sent := p.server.Calls(t, "hset"), p.scripts("acquire")
	pause()
	held, unlock := p.hold(lock)
	require.Greater(t, p.scripts("acquire"), sent+1, "it did not have to be sent again")
	require.Equal(t, grants+1, p.server.Calls(t, "hset"))
	hold, err := lock.Held(held)
	require.NoError(t, err)
	require.Equal(t, map[string]string{hold.ID: "1"}, p.direct.HGetAll(t.Context(), "paused").Val())
	pause()
	_, inner, err := lock.Lock(held)
	require.NoError(t, err)
	counted := func(levels string) {
		redistest.Eventually(t, faultSoon, func() bool { return count(hold.ID) == levels }, "Redis counts the levels")
	}
	counted("2")
	require.NoError(t, inner())
	counted("1")

	waiting := faultCall(t.Context(), rival.Lock)
	p.listened("paused")
	_, unlockKept := p.hold(rlock.New(client, "kept"))
	pause()
	releaseBounded(t, unlock, timeout)
	g := faultAwait(t, waiting, faultSoon)
	require.NoError(t, g.err)
	renewed, before := paused.Load(), kept.Load()
	redistest.Eventually(t, faultSoon, func() bool { return kept.Load() >= before+2 }, "what is still held is renewed")
	require.Equal(t, renewed, paused.Load())
	require.Zero(t, losses.Load())
	require.NoError(t, g.unlock())
	require.NoError(t, unlockKept())
	p.cleansUp(faultSoon)
}
