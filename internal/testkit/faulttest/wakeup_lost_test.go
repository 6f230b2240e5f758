package faulttest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// wakeupSlack is what a loaded machine may add to a poll interval. It is far below every lease here.
const wakeupSlack = 4 * time.Second

// G6, need 6: with every message lost a waiter gets in within the poll interval after the release.
func TestWaiterGetsInWithoutAnyMessage(t *testing.T) {
	t.Parallel()
	const poll = 300 * time.Millisecond
	p := newFaultyPath(t)
	p.proxy.SwallowMessages(true)
	holder := rlock.New(p.straight(rlock.ClientOptions{Lease: faultNever}), "silent")
	waiter := rlock.New(p.client(rlock.ClientOptions{Lease: faultNever, MaxPoll: poll}), "silent")
	for range 5 {
		_, unlock := p.hold(holder)
		waiting := faultCall(t.Context(), waiter.Lock)
		p.listened("silent")
		require.NoError(t, unlock())
		faultEnters(t, waiting, poll+wakeupSlack)
	}
}

// G6, need 6, bug 24: the release is published between the waiter's first try and its subscription. It is found
// by the try that follows the subscription, if not before: a waiter that is not subscribed yet asks by itself now and then.
func TestReleaseBeforeTheSubscriptionIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	_, unlock := p.hold(rlock.New(p.straight(opts), "between"))
	gate := faultproxy.NewGate()
	subscribing := p.proxy.On(faultproxy.Command("subscribe"), faultproxy.HoldRequest(gate))
	waiting := faultCall(t.Context(), rlock.New(p.client(opts), "between").Lock)
	subscribing.Wait(t, 1)
	require.NoError(t, unlock())
	gate.Open()
	faultEnters(t, waiting, faultSoon)
}

// G6, need 22: a subscription whose confirmation is lost, or that is cut off before, is made again; it does not
// block later waiters (bug 25).
func TestSubscriptionThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	faults := map[string]faultproxy.Action{
		"cut before": faultproxy.CutBefore, "cut after": faultproxy.CutAfter,
		"request lost": faultproxy.DropRequest, "reply lost": faultproxy.DropReply,
	}
	for fault, action := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			const poll = 500 * time.Millisecond
			p := newFaultyPath(t)
			opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: poll}
			_, unlock := p.hold(rlock.New(p.straight(opts), "failed"))
			failed := p.proxy.On(faultproxy.Command("subscribe"), action).Times(2)
			client := p.client(opts)
			waiting := faultCall(t.Context(), rlock.New(client, "failed").Lock)
			failed.Wait(t, 1)
			require.NoError(t, unlock())
			faultEnters(t, waiting, poll+wakeupSlack)

			failed.Times(0)
			_, unlock = p.hold(rlock.New(p.straight(opts), "failed"))
			waiting = faultCall(t.Context(), rlock.New(client, "failed").Lock)
			require.NoError(t, unlock())
			faultEnters(t, waiting, poll+wakeupSlack)
			require.NoError(t, client.Close())
			redistest.Eventually(t, faultSoon, func() bool {
				return len(p.server.PubSubChannels(t)) == 0
			}, "a channel stayed subscribed")
		})
	}
}

// G6, need 6: the subscribers' connections are cut right before each of 50 releases, two clients taking turns.
// No turn takes longer than the poll interval.
func TestHandOverWithTheSubscriptionCutBeforeEachRelease(t *testing.T) {
	t.Parallel()
	const poll = 300 * time.Millisecond
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: poll}
	locks := []*rlock.Lock{rlock.New(p.client(opts), "turns"), rlock.New(p.client(opts), "turns")}
	_, unlock := p.hold(locks[0])
	var longest time.Duration
	for turn := range 50 {
		waiting := faultCall(t.Context(), locks[(turn+1)%2].Lock)
		p.listened("turns")
		p.proxy.CutSubscribers()
		start := time.Now()
		require.NoError(t, unlock())
		g := faultAwait(t, waiting, poll+wakeupSlack)
		require.NoError(t, g.err)
		longest = max(longest, time.Since(start))
		unlock = g.unlock
	}
	require.NoError(t, unlock())
	t.Logf("longest turn %v", longest)
}

// G6, need 6, bug 30: the subscribers are killed all the time, while 20 callers of 4 clients take turns. All of
// them get through, and no channel is left.
func TestSubscribersKilledInALoop(t *testing.T) {
	t.Parallel()
	const clients, callers, turns = 4, 5, 25
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: 200 * time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	killed := make(chan int64, 1)
	go func() { killed <- wakeupKillSubscribers(ctx, p.direct) }()

	var all errgroup.Group
	var inside int // guarded by the lock itself, and so checked by the race detector too
	var made []*rlock.Client
	for range clients {
		client := p.straight(opts)
		made = append(made, client)
		for range callers {
			all.Go(func() error {
				for range turns {
					if err := rlock.New(client, "killed").Do(t.Context(), func(context.Context) error {
						inside++
						defer func() { inside-- }()
						if inside != 1 {
							return fmt.Errorf("%d inside", inside)
						}
						return p.direct.Ping(t.Context()).Err()
					}); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	done := make(chan error, 1)
	go func() { done <- all.Wait() }()
	require.NoError(t, redistest.Receive(t, time.Minute, done, "a waiter is stuck"))
	stop()
	require.Positive(t, <-killed)
	for _, client := range made {
		require.NoError(t, client.Close())
	}
	redistest.Eventually(t, faultSoon, func() bool { return len(p.server.PubSubChannels(t)) == 0 },
		"a channel stayed subscribed")
}

// wakeupKillSubscribers kills subscribers until ctx ends, and returns how many.
func wakeupKillSubscribers(ctx context.Context, rdb *redis.Client) (killed int64) {
	for ctx.Err() == nil {
		n, _ := rdb.ClientKillByFilter(context.WithoutCancel(ctx), "TYPE", "pubsub").Result()
		killed += n
	}
	return killed
}
