package rlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

const minHold = time.Minute

// minHoldWays are ways in which a hold with a MinHold of a minute ends. Each returns a little after its beginning.
var minHoldWays = map[string]func(t *testing.T, client *rlock.Client){
	"unlock": func(t *testing.T, client *rlock.Client) {
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		time.Sleep(time.Second)
		require.NoError(t, hold.unlock())
		require.ErrorIs(t, context.Cause(hold.ctx), rlock.ErrReleased)
		require.ErrorIs(t, hold.unlock(), rlock.ErrNotHeld)
		_, err := rlock.New(client, "job").Held(hold.ctx)
		require.ErrorIs(t, err, rlock.ErrNotHeld)
	},
	"Close": func(t *testing.T, client *rlock.Client) {
		timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		require.ErrorContains(t, client.Close(), "job")
	},
	"MaxHold": func(t *testing.T, client *rlock.Client) {
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold), rlock.MaxHold(time.Second)))
		timeLost(t, timeOver(t, hold.ctx), rlock.LossMaxHold)
		timeLost(t, hold.unlock(), rlock.LossMaxHold)
	},
	"with a fixed lease": func(t *testing.T, client *rlock.Client) {
		options := []rlock.Option{rlock.MinHold(minHold), rlock.FixedLease(2 * minHold)}
		require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "job", options...)).unlock())
	},
	"a nested level has it": func(t *testing.T, client *rlock.Client) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job"))
		inner := timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MinHold(minHold)))
		require.NoError(t, inner.unlock())
		require.NoError(t, outer.unlock())
	},
	"a nested level asks for a longer lease too": func(t *testing.T, client *rlock.Client) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(time.Second)))
		inner := timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MinHold(minHold), rlock.Lease(2*minHold)))
		require.NoError(t, inner.unlock())
		require.NoError(t, outer.unlock())
	},
	"the longest counts": func(t *testing.T, client *rlock.Client) {
		outer := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		inner := timeLock(t, outer.ctx, rlock.New(client, "job", rlock.MinHold(time.Second)))
		require.NoError(t, outer.unlock())
		require.NoError(t, inner.unlock())
	},
	"it is imported": func(t *testing.T, client *rlock.Client) {
		lock := rlock.New(client, "job")
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		token, err := lock.Export(hold.ctx)
		require.NoError(t, err)
		_, unlock, err := lock.Import(t.Context(), token)
		require.NoError(t, err)
		require.NoError(t, unlock())
	},
}

// However the hold ends, the lock stays until the time is over, for its own process and for others, and is then
// granted to a waiter, within a round trip and not at the next poll.
func TestMinHoldKeepsTheLock(t *testing.T) {
	t.Parallel()
	for name, end := range minHoldWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				options := rlock.ClientOptions{Lease: 9 * time.Second, MaxPoll: 20 * time.Second}
				client := sim.client(t, options)
				others := []*rlock.Client{sim.client(t, options), sim.client(t, options)}
				if name != "Close" {
					others = append(others, client)
				}
				began := time.Now()
				end(t, client)
				require.True(t, sim.holds("job"))
				var waiting sync.WaitGroup
				for _, other := range others {
					_, _, err := rlock.New(other, "job").TryLock(t.Context())
					require.ErrorIs(t, err, rlock.ErrBusy)
					waiting.Go(func() {
						next := timeLock(t, t.Context(), rlock.New(other, "job"))
						after := time.Since(began)
						require.GreaterOrEqual(t, after, minHold)
						require.LessOrEqual(t, after, minHold+time.Second)
						require.NoError(t, next.unlock())
					})
				}
				waiting.Wait()
				require.False(t, sim.holds("job"), "nothing is left")
			})
		})
	}
}

// A waiter that was told of a whole lease when the lock was held is told of the short rest when it is kept.
func TestMinHoldWakesThoseWhoWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		options := rlock.ClientOptions{Lease: 30 * time.Second, MaxPoll: 20 * time.Second}
		client, other := sim.client(t, options), sim.client(t, options)
		began := time.Now()
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(2*time.Second)))
		var waiting sync.WaitGroup
		for _, one := range []*rlock.Client{client, other} {
			waiting.Go(func() {
				next := timeLock(t, t.Context(), rlock.New(one, "job"))
				require.LessOrEqual(t, time.Since(began), 3*time.Second)
				require.NoError(t, next.unlock())
			})
		}
		synctest.Wait()
		time.Sleep(time.Second)
		require.NoError(t, hold.unlock())
		waiting.Wait()
	})
}

// What is over when the hold ends costs nothing: the lock is free at once.
func TestMinHoldThatIsOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		time.Sleep(minHold + time.Second)
		require.NoError(t, hold.unlock())
		require.False(t, sim.holds("job"))
	})
}

// A waiter with a MinHold is not passed a hold in memory: its time begins with a grant of its own.
func TestMinHoldIsGrantedByRedis(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(client, "job"))
		var waiting sync.WaitGroup
		waiting.Go(func() {
			next := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
			require.NoError(t, next.unlock())
		})
		synctest.Wait()
		time.Sleep(2 * time.Second)
		at := time.Now()
		require.NoError(t, hold.unlock())
		waiting.Wait()
		next := timeLock(t, t.Context(), rlock.New(client, "job"))
		require.GreaterOrEqual(t, time.Since(at), minHold)
		require.NoError(t, next.unlock())
	})
}

// An unlock whose request is carried out and not answered sends it again, which keeps the lock no longer; and so does a
// renewal that is carried out later than the release.
func TestMinHoldWithLostReplies(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		lost := 1
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			if timeScript(args) == "retain" && lost > 0 {
				lost--
				return simredis.DropReply
			}
			return simredis.Pass
		})
		began := time.Now()
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		require.NoError(t, hold.unlock())
		require.Zero(t, lost)
		next := timeLock(t, t.Context(), rlock.New(client, "job"))
		require.GreaterOrEqual(t, time.Since(began), minHold)
		require.LessOrEqual(t, time.Since(began), minHold+4*time.Second)
		require.NoError(t, next.unlock())
	})
}

// A call that fails keeps nothing, whatever Redis did of it: the job did not run.
func TestMinHoldOfACallThatFailed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		other := sim.client(t, rlock.ClientOptions{})
		sim.suffer(timeOnly("acquire", simredis.DropReply))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := rlock.New(client, "job", rlock.MinHold(minHold)).Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		sim.suffer(nil)
		at := time.Now()
		next := timeLock(t, t.Context(), rlock.New(other, "job"))
		require.Less(t, time.Since(at), 10*time.Second)
		require.NoError(t, next.unlock())
	})
}

// Redis is silent for the whole of the release: the release goes on in the background, and still keeps the lock.
func TestMinHoldIsKeptByALateRelease(t *testing.T) {
	t.Parallel()
	lab := newTimeLab(t)
	client := lab.client(t, rlock.ClientOptions{ReleaseTimeout: 100 * time.Millisecond})
	key := redistest.Key(t)
	hold := timeLock(t, t.Context(), rlock.New(client, key, rlock.MinHold(minHold)))
	id := timeHeld(t, hold.ctx, rlock.New(client, key)).ID
	lab.on("retain", faultproxy.DropRequest).Times(2)
	err := hold.unlock()
	if err != nil {
		require.ErrorIs(t, err, rlock.ErrUnconfirmed)
	}
	redistest.Eventually(t, timeLimit, func() bool {
		return !lab.direct.HExists(context.Background(), key, id).Val()
	}, "the id of the hold is still there")
	require.Positive(t, lab.direct.HLen(t.Context(), key).Val())
	require.Greater(t, timeTTL(t, lab.direct, key), minHold/2)
	require.LessOrEqual(t, timeTTL(t, lab.direct, key), minHold+timeLimit)
}

// To an observer it is a lock with one level and a TTL, which is nobody's of this process. Only Break frees it.
func TestMinHoldSeenFromOutside(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, key := timeClient(t, server.Addr(), rlock.ClientOptions{}), redistest.Key(t)
	lock := rlock.New(client, key, rlock.MinHold(minHold))
	hold := timeLock(t, t.Context(), lock)
	id := timeHeld(t, hold.ctx, lock).ID
	require.NoError(t, hold.unlock())

	info, err := lock.Inspect(t.Context())
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	got := info.Holders[0]
	require.False(t, got.Mine)
	require.NotEqual(t, id, got.ID)
	require.Equal(t, 1, got.Count)
	require.LessOrEqual(t, got.TTL, minHold+timeLimit)
	require.Greater(t, got.TTL, minHold/2)

	require.NoError(t, lock.Break(t.Context()))
	next := timeLock(t, t.Context(), lock)
	require.NoError(t, next.unlock())
	require.NoError(t, lock.Break(t.Context()))
}

// One request, like any unlock.
func TestMinHoldCostsOneRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "other", rlock.MinHold(time.Millisecond))).unlock())
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.MinHold(minHold)))
		require.Equal(t, 1, sim.count("retain"))
		var sent []string
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			sent = append(sent, timeScript(args))
			return simredis.Pass
		})
		require.NoError(t, hold.unlock())
		sim.suffer(nil)
		require.Equal(t, []string{"retain"}, sent)
	})
}

func TestMinHoldArguments(t *testing.T) {
	t.Parallel()
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{})
	_, _, err := rlock.New(client, "a", rlock.MinHold(2*time.Second), rlock.FixedLease(time.Second)).Lock(t.Context())
	requireArgument(t, err, "MinHold")
	_, _, err = rlock.New(client, "a", rlock.MinHold(0)).Lock(t.Context())
	requireArgument(t, err, "MinHold")
	members := []*rlock.Lock{rlock.New(client, "a"), rlock.New(client, "b", rlock.MinHold(time.Second))}
	_, _, err = multilock.New(members).Lock(t.Context())
	requireArgument(t, err, "MinHold")
	_, _, err = multilock.New(members[:1], rlock.MinHold(time.Second)).Lock(t.Context())
	requireArgument(t, err, "MinHold")
}

func requireArgument(t *testing.T, err error, name string) {
	t.Helper()
	var bad *rlock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, name, bad.Name)
}
