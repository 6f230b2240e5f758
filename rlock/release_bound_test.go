package rlock_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// releaseSlack is what an unlock may take beyond ReleaseTimeout where time passes only while everybody waits.
const releaseSlack = 20 * time.Millisecond

// What an unlock may have to dial for. Each case returns the unlock functions that are called at once.
var boundCases = map[string]func(t *testing.T, client *rlock.Client) []func() error{
	"one": func(t *testing.T, client *rlock.Client) []func() error {
		return []func() error{timeLock(t, t.Context(), rlock.New(client, "one")).unlock}
	},
	"more than are sent at a time": func(t *testing.T, client *rlock.Client) (all []func() error) {
		for n := range 60 {
			all = append(all, timeLock(t, t.Context(), rlock.New(client, "many:"+string(rune('A'+n)))).unlock)
		}
		return all
	},
}

// defect F11: an unlock returns within ReleaseTimeout, also when a connection has to be dialled for it and the dial hangs,
// and Close joins the dial.
func TestUnlockIsBoundedByReleaseTimeout(t *testing.T) {
	t.Parallel()
	for name, bring := range boundCases {
		for _, limit := range []time.Duration{500 * time.Millisecond, 5 * time.Second} {
			for how, heeding := range map[string]bool{"a dial that heeds its context": true, "one that does not": false} {
				t.Run(name+"/"+limit.String()+"/"+how, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						unlockUnreachable(t, limit, heeding, bring)
					})
				})
			}
		}
	}
}

func unlockUnreachable(
	t *testing.T, limit time.Duration, heeding bool, bring func(*testing.T, *rlock.Client) []func() error,
) {
	server := simredis.New(t)
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		ReleaseTimeout: limit, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	unlocks := bring(t, client)
	var dials atomic.Int32 // under way
	dial := simredis.Stuck
	if heeding {
		dial = simredis.Unanswered
	}
	server.Leave(func(ctx context.Context) error {
		dials.Add(1)
		defer dials.Add(-1)
		return dial(ctx)
	})
	var all sync.WaitGroup
	began := time.Now()
	for _, unlock := range unlocks {
		all.Go(func() {
			err := unlock()
			took := time.Since(began)
			assert.ErrorIs(t, err, rlock.ErrUnconfirmed)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "the deadline is not the caller's")
			assert.LessOrEqual(t, took, limit+releaseSlack)
		})
	}
	all.Wait()
	_ = client.Close()
	synctest.Wait()
	if heeding {
		require.Zero(t, dials.Load(), "dials under way after Close")
	}
	time.Sleep(time.Minute) // the dials that heed no context
}

// The control: what a caller's context or MaxWait bounds ends with that, and a hold that cannot be renewed with its
// validity, while a dial hangs.
func TestADialThatHangsHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		rdb := redis.NewClient(server.Options())
		defer func() { _ = rdb.Close() }()
		client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		defer func() { _ = client.Close() }()
		held := timeLock(t, t.Context(), rlock.New(client, "held"))
		until := timeHeld(t, held.ctx, rlock.New(client, "held")).ValidUntil
		server.Leave(simredis.Unanswered)
		const limit = 700 * time.Millisecond

		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, _, err = rlock.New(client, "other").Lock(ctx)
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), limit+releaseSlack)

		began = time.Now()
		_, _, err = rlock.New(client, "other", rlock.MaxWait(limit)).Lock(t.Context())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.LessOrEqual(t, time.Since(began), limit+releaseSlack)

		<-held.ctx.Done()
		require.ErrorIs(t, context.Cause(held.ctx), rlock.ErrLost)
		require.LessOrEqual(t, time.Since(until), releaseSlack)
	})
}
