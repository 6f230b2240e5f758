package faulttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G6, bug 28: Redis is flushed and its subscribers are killed, over and over, while the lock stays held. A waiter
// asks about once for each of these, does not spin, is still woken by the release at the end, and can leave at any
// time.
func TestFlushesAndKillsDoNotMakeWaitersSpin(t *testing.T) {
	t.Parallel()
	const clients, callers, rounds = 3, 4, 25
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	again := func() { // as if it had been taken anew in the same moment
		_, err := p.direct.TxPipelined(t.Context(), func(tx redis.Pipeliner) error {
			tx.FlushAll(t.Context())
			tx.HSet(t.Context(), "flushed", "java:1", 1)
			tx.PExpire(t.Context(), "flushed", faultNever)
			return nil
		})
		require.NoError(t, err)
	}
	again()
	ctx, leave := context.WithCancel(t.Context())
	var leaving []<-chan faultGrant
	entered := make(chan error, clients)
	for range clients {
		client := p.client(opts)
		for range callers {
			leaving = append(leaving, faultCall(ctx, rlock.New(client, "flushed").Lock))
		}
		p.queued(rlock.New(client, "flushed"), callers)
		go func() { entered <- rlock.New(client, "flushed").Do(t.Context(), orphanNoop) }()
	}
	listening := func() bool {
		n, err := p.direct.PubSubNumSub(t.Context(), faultChannel("flushed")).Result()
		return err == nil && n[faultChannel("flushed")] == clients
	}
	redistest.Eventually(t, faultSoon, listening, "somebody does not listen")
	asked, start := p.scripts("acquire"), time.Now()
	for range rounds {
		again()
		require.NoError(t, p.direct.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
		redistest.Eventually(t, faultSoon, listening, "somebody does not listen again")
	}
	asks := p.scripts("acquire") - asked
	t.Logf("%d rounds in %v, %d asks", rounds, time.Since(start), asks)
	// Once when the subscription stands anew; the killing may go on before it does.
	require.LessOrEqual(t, asks, clients*(2*rounds+2))

	leave()
	for _, c := range leaving {
		g := faultAwait(t, c, faultSoon)
		require.ErrorIs(t, g.err, context.Canceled)
		require.ErrorIs(t, g.err, rlock.ErrBusy)
	}
	require.NoError(t, rlock.New(p.straight(opts), "flushed").Break(t.Context()))
	for range clients {
		require.NoError(t, redistest.Receive(t, faultSoon, entered, "a waiter that stayed does not get in"))
	}
	p.cleansUp(faultSoon)
}
