package rlock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// keepLease is a lease that nothing in these tests comes near to.
const keepLease = 30 * time.Second

// keepFor is longer than any of the tests' pauses.
const keepFor = 900 * time.Millisecond

// warmKept is a client with a kept lock which nobody holds. The first token of a name has no others beside it, so the
// name is locked once before.
func warmKept(t *testing.T, sim *timeSim, d time.Duration) (*rlock.Client, *rlock.Lock) {
	t.Helper()
	client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
	require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "n")).unlock())
	time.Sleep(10 * time.Millisecond)
	lock := rlock.New(client, "n", rlock.Keep(d))
	require.NoError(t, timeLock(t, t.Context(), lock).unlock())
	require.True(t, sim.holds("n"))
	require.Equal(t, 1, client.Stats().Kept)
	require.Zero(t, client.Stats().Holds)
	return client, lock
}

// A kept lock is locked again without a request, with a context and a token of its own.
func TestAKeptLockSendsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, lock := warmKept(t, sim, keepFor)
		asked, released := sim.count("acquire"), sim.count("release")
		var fences []int64
		for range 50 {
			first := timeLock(t, t.Context(), lock)
			hold := timeHeld(t, first.ctx, lock)
			require.NoError(t, first.unlock())
			require.ErrorIs(t, context.Cause(first.ctx), rlock.ErrReleased)
			require.ErrorIs(t, first.unlock(), rlock.ErrNotHeld)
			fences = append(fences, hold.Fence)
			held, unlock, err := lock.TryLock(t.Context())
			require.NoError(t, err)
			fences = append(fences, timeHeld(t, held, lock).Fence)
			require.NoError(t, unlock())
			time.Sleep(time.Millisecond)
		}
		require.IsIncreasing(t, fences)
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		require.True(t, info.Holders[0].Kept && info.Holders[0].Mine)
		require.Equal(t, asked, sim.count("acquire"))
		require.Equal(t, released, sim.count("release"))
	})
}

// The first hold of a name is kept as well, though its token is the only one that is certainly new. The next turn asks
// for further tokens, by one request, and those after it ask for nothing (defect G47).
func TestTheFirstHoldOfANameIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
		lock := rlock.New(client, "n", rlock.Keep(keepFor))
		var fences []int64
		turn := func() {
			t.Helper()
			hold := timeLock(t, t.Context(), lock)
			fences = append(fences, timeHeld(t, hold.ctx, lock).Fence)
			require.NoError(t, hold.unlock())
			require.Equal(t, 1, client.Stats().Kept)
			time.Sleep(time.Millisecond)
		}
		turn()
		acquired, released := sim.count("acquire"), sim.count("release")
		for range 20 {
			turn()
		}
		require.IsIncreasing(t, fences)
		require.Equal(t, acquired, sim.count("acquire"))
		require.Equal(t, released, sim.count("release"))
		require.Equal(t, 1, sim.count("mint"))
	})
}

// The turn that asks for tokens holds nothing if the lock was taken away, if nothing answers, or if its caller leaves;
// then the lock is not kept any more (defect G47).
func TestWithoutATokenNobodyHoldsAKeptLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, sim *timeSim, lock *rlock.Lock){
		"taken away": func(t *testing.T, sim *timeSim, lock *rlock.Lock) {
			other := takenAway(t, sim, false)
			_, _, err := lock.TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.NoError(t, other.unlock())
		},
		"no answer": func(t *testing.T, sim *timeSim, lock *rlock.Lock) {
			sim.suffer(timeAlways(simredis.DropReply))
			_, _, err := lock.TryLock(t.Context())
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			sim.suffer(nil)
		},
		"nobody waits for it": func(t *testing.T, sim *timeSim, lock *rlock.Lock) {
			sim.suffer(timeAlways(simredis.DropReply))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, _, err := lock.Lock(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			sim.suffer(nil)
		},
		"answered when its caller has left": func(t *testing.T, sim *timeSim, lock *rlock.Lock) {
			sim.suffer(func(_ int, args []string) simredis.Verdict {
				if timeScript(args) == "mint" {
					return simredis.Delay(200 * time.Millisecond)
				}
				return simredis.Pass
			})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, _, err := lock.Lock(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			sim.suffer(nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
				lock := rlock.New(client, "n", rlock.Keep(keepFor))
				require.NoError(t, timeLock(t, t.Context(), lock).unlock())
				require.Equal(t, 1, client.Stats().Kept)
				end(t, sim, lock)
				require.Zero(t, client.Stats().Kept)
				require.Eventually(t, func() bool { return !sim.holds("n") }, time.Minute, time.Second)
				require.NoError(t, timeLock(t, t.Context(), lock).unlock())
			})
		})
	}
}

// It is released when it was unused for as long as it may be.
func TestAKeptLockIsReleasedInTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const d = 100 * time.Millisecond
		_, lock := warmKept(t, sim, d)
		time.Sleep(d / 2)
		require.NoError(t, timeLock(t, t.Context(), lock).unlock())
		time.Sleep(d * 4 / 5)
		require.True(t, sim.holds("n"), "it was used meanwhile")
		time.Sleep(d * 2 / 5)
		require.False(t, sim.holds("n"))
	})
}

// However often it is used, a kept lock is really released once a second: others may want it who cannot say so.
func TestAKeptLockIsReleasedOnceASecond(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, lock := warmKept(t, sim, keepFor)
		released, began := sim.count("release"), time.Now()
		for time.Since(began) < 10*time.Second {
			require.NoError(t, timeLock(t, t.Context(), lock).unlock())
			time.Sleep(10 * time.Millisecond)
		}
		n := sim.count("release") - released
		require.GreaterOrEqual(t, n, 9)
		require.LessOrEqual(t, n, 13, "about once a second: a pause for those that poll may end with a turn that is not kept")
	})
}

// A turn that ends later than a second after the lock was acquired ends with a release.
func TestATurnThatEndsLateIsNotKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, lock := warmKept(t, sim, keepFor)
		time.Sleep(keepFor / 2)
		hold := timeLock(t, t.Context(), lock)
		time.Sleep(keepFor)
		require.NoError(t, hold.unlock())
		require.False(t, sim.holds("n"))
	})
}

// The process that kept a lock leaves it to the one that asked for it, though that one does not listen yet.
func TestTheOneThatAskedIsNext(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, lock := warmKept(t, sim, keepFor)
		far, err := rlock.NewClient(redis.NewClient(sim.FarOptions(2*time.Millisecond)), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, far.Close()) }()
		warm := timeLock(t, t.Context(), rlock.New(client, "warm"))
		_, _, err = rlock.New(far, "warm", rlock.MaxWait(50*time.Millisecond)).Lock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy) // it has a connection to listen on now
		require.NoError(t, warm.unlock())
		hold := timeLock(t, t.Context(), lock)
		got := make(chan timeHold, 1)
		go func() { got <- timeLock(t, t.Context(), rlock.New(far, "n")) }()
		time.Sleep(1500 * time.Microsecond) // it was refused, and does not know that yet
		require.NoError(t, hold.unlock())
		again := make(chan timeHold, 1)
		go func() { again <- timeLock(t, t.Context(), rlock.New(client, "n")) }()
		time.Sleep(50 * time.Millisecond)
		require.Len(t, got, 1, "the other one was first")
		require.Empty(t, again)
		require.NoError(t, (<-got).unlock())
		require.NoError(t, (<-again).unlock())
	})
}

// Another process has an idle lock as soon as its keeper has heard that it wants it: by Lock, and by TryLock.
func TestAnIdleLockIsGivenToAnother(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(context.Context, *rlock.Lock) (context.Context, func() error, error){
		"Lock": func(ctx context.Context, l *rlock.Lock) (context.Context, func() error, error) {
			return l.Lock(ctx)
		},
		"TryLock": func(ctx context.Context, l *rlock.Lock) (context.Context, func() error, error) {
			return l.TryLock(ctx)
		},
		"in a set": func(ctx context.Context, l *rlock.Lock) (context.Context, func() error, error) {
			return multilock.New([]*rlock.Lock{l}).Lock(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				_, kept := warmKept(t, sim, keepFor)
				time.Sleep(50 * time.Millisecond) // the subscription stands
				other := sim.client(t, rlock.ClientOptions{Lease: keepLease})
				began := time.Now()
				_, unlock, err := take(t.Context(), rlock.New(other, "n"))
				require.NoError(t, err)
				require.Less(t, time.Since(began), 20*time.Millisecond)

				_, _, err = kept.TryLock(t.Context())
				require.ErrorIs(t, err, rlock.ErrBusy)
				require.NoError(t, unlock())
				require.NoError(t, timeLock(t, t.Context(), kept).unlock())
				require.False(t, sim.holds("n"), "a name that others want is not kept for a while")
				time.Sleep(time.Second)
				require.NoError(t, timeLock(t, t.Context(), kept).unlock())
				require.True(t, sim.holds("n"), "and then again")
			})
		})
	}
}

// A hold that others want goes on to its end, and is released then.
func TestAHeldLockIsReleasedForAnother(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		time.Sleep(50 * time.Millisecond)
		hold := timeLock(t, t.Context(), kept)
		other := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n")
		got := make(chan timeHold, 1)
		go func() { got <- timeLock(t, t.Context(), other) }()
		time.Sleep(200 * time.Millisecond)
		require.NoError(t, hold.ctx.Err())
		require.Empty(t, got)
		_, _, err := other.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, hold.unlock())
		time.Sleep(20 * time.Millisecond)
		require.Len(t, got, 1)
		require.NoError(t, (<-got).unlock())
	})
}

// One that cannot say that it wants the lock, as Redisson's clients cannot, waits for a second at most: it hears the
// release that comes by then, and the process that kept the lock lets it have its turn.
func TestAKeptLockIsGivenToAStranger(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		stranger := sim.Client()
		released := stranger.Subscribe(t.Context(), "redisson_lock__channel:{n}")
		defer func() { require.NoError(t, released.Close()) }()
		_, err := released.Receive(t.Context())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				if _, unlock, err := kept.Lock(ctx); err == nil {
					_ = unlock()
				}
				time.Sleep(time.Millisecond)
			}
		}()
		began := time.Now()
		for took := false; !took; {
			_, err := released.ReceiveMessage(t.Context())
			require.NoError(t, err)
			took, err = stranger.HSetNX(t.Context(), "n", "stranger:1", 1).Result()
			require.NoError(t, err)
			if took && stranger.HLen(t.Context(), "n").Val() > 1 { // it was there already
				took = false
				require.NoError(t, stranger.HDel(t.Context(), "n", "stranger:1").Err())
			}
		}
		require.Less(t, time.Since(began), 1500*time.Millisecond)
		stop()
		<-done
		require.NoError(t, stranger.Del(t.Context(), "n").Err())
	})
}

// An idle lock is in nobody's way in its own process: a handle that asks for something else takes it.
func TestAnIdleLockIsInNobodysWayHere(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, client *rlock.Client) (func() error, error){
		"TryLock of a plain handle": func(t *testing.T, client *rlock.Client) (func() error, error) {
			_, unlock, err := rlock.New(client, "n").TryLock(t.Context())
			return unlock, err
		},
		"Lock of a plain handle": func(t *testing.T, client *rlock.Client) (func() error, error) {
			_, unlock, err := rlock.New(client, "n").Lock(t.Context())
			return unlock, err
		},
		"another lease": func(t *testing.T, client *rlock.Client) (func() error, error) {
			_, unlock, err := rlock.New(client, "n", rlock.Keep(keepFor), rlock.Lease(2*keepLease)).TryLock(t.Context())
			return unlock, err
		},
		"Lock of a set": func(t *testing.T, client *rlock.Client) (func() error, error) {
			set := multilock.New([]*rlock.Lock{rlock.New(client, "m"), rlock.New(client, "n")})
			_, unlock, err := set.Lock(t.Context())
			return unlock, err
		},
		"TryLock of a set": func(t *testing.T, client *rlock.Client) (func() error, error) {
			set := multilock.New([]*rlock.Lock{rlock.New(client, "m"), rlock.New(client, "n")})
			_, unlock, err := set.TryLock(t.Context())
			return unlock, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client, _ := warmKept(t, sim, keepFor)
				began := time.Now()
				unlock, err := take(t, client)
				require.NoError(t, err)
				require.Less(t, time.Since(began), 50*time.Millisecond)
				require.NoError(t, unlock())
				require.Equal(t, name == "another lease", sim.holds("n"), "of these only that one is kept itself")
			})
		})
	}
}

// A kept lock that the store does not have any more, because somebody deleted its key, is taken anew.
func TestAKeptLockThatIsGoneIsNotEntered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, kept := warmKept(t, sim, keepFor)
		require.NoError(t, kept.Break(t.Context()))
		require.False(t, sim.holds("n"))
		hold := timeLock(t, t.Context(), kept)
		require.True(t, sim.holds("n"), "it asked")
		require.NoError(t, hold.unlock())
		time.Sleep(time.Second)
		require.NoError(t, timeLock(t, t.Context(), kept).unlock())
		require.True(t, sim.holds("n"), "it is kept")
		require.NoError(t, client.Close(), "nobody holds what is kept")
		require.False(t, sim.holds("n"), "Close releases it")
	})
}

// A process that stood still for longer than the lease does not enter what it kept.
func TestAKeptLockEndsWithItsValidity(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		sim.suffer(timeAlways(simredis.Cut))
		time.Sleep(2 * keepLease)
		sim.suffer(nil)
		asked := sim.count("acquire")
		require.NoError(t, timeLock(t, t.Context(), kept).unlock())
		require.Greater(t, sim.count("acquire"), asked)
	})
}

// Two processes that want the same kept lock in turns do not hand it back and forth by messages: after a few it is not
// kept any more.
func TestTwoThatAlternateDoNotKeep(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		wants := sim.Client().PSubscribe(t.Context(), "holdfast_wanted:*")
		defer func() { require.NoError(t, wants.Close()) }()
		_, err := wants.Receive(t.Context())
		require.NoError(t, err)
		said := wants.Channel(redis.WithChannelSize(10_000))
		var all sync.WaitGroup
		var turns [2]int
		for i := range turns {
			lock := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n", rlock.Keep(keepFor))
			all.Go(func() {
				for began := time.Now(); time.Since(began) < 10*time.Second; turns[i]++ {
					hold := timeLock(t, t.Context(), lock)
					time.Sleep(time.Millisecond)
					require.NoError(t, hold.unlock())
					time.Sleep(3 * time.Millisecond)
				}
			})
		}
		all.Wait()
		for _, n := range turns {
			require.Greater(t, n, 1_200, "%v", turns)
		}
		require.Less(t, len(said), 20)
	})
}

func TestKeepArguments(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: 900 * time.Millisecond})
		asked := sim.count("acquire")
		for problem, options := range map[string][]rlock.Option{
			"at least 1ms":    {rlock.Keep(time.Microsecond)},
			"at most 1s":      {rlock.Keep(time.Second + time.Millisecond)},
			"than the lease":  {rlock.Keep(301 * time.Millisecond), rlock.Lease(300 * time.Millisecond)},
			"with FixedLease": {rlock.Keep(time.Second), rlock.FixedLease(time.Minute)},
			"with MinHold":    {rlock.MinHold(time.Second), rlock.Keep(time.Second)},
			"with MaxHold":    {rlock.Keep(time.Second), rlock.MaxHold(time.Second)},
		} {
			_, _, err := rlock.New(client, "n", options...).Lock(t.Context())
			var bad *rlock.ArgumentError
			require.ErrorAs(t, err, &bad, problem)
			require.Equal(t, "Keep", bad.Name)
			require.True(t, strings.Contains(bad.Problem, problem), bad.Problem)
		}
		require.Equal(t, asked, sim.count("acquire"))
	})
}

// A client keeps only so many locks: the one that was unused for the longest time goes.
func TestAClientKeepsSoMany(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: keepLease, MaxKept: 2})
		names := []string{"a", "b", "c"}
		for _, name := range names {
			require.NoError(t, timeLock(t, t.Context(), rlock.New(client, name)).unlock())
		}
		time.Sleep(10 * time.Millisecond)
		for _, name := range names {
			require.NoError(t, timeLock(t, t.Context(), rlock.New(client, name, rlock.Keep(keepFor))).unlock())
			time.Sleep(10 * time.Millisecond)
		}
		require.Equal(t, 2, client.Stats().Kept)
		require.False(t, sim.holds("a"))
		require.True(t, sim.holds("b"))
		require.True(t, sim.holds("c"))

		_, err := rlock.NewClient(sim.Client(), &rlock.ClientOptions{MaxKept: -1})
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, "ClientOptions.MaxKept", bad.Name)
	})
}

// A release of an idle lock that is lost, before its effect or after it, holds up the one that asked for no longer than
// it takes to send it again.
func TestALostReleaseOfAnIdleLock(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]simredis.Verdict{
		"the request": simredis.Cut, "the reply": simredis.CutAfter, "it comes late": simredis.Delay(300 * time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client, _ := warmKept(t, sim, keepFor)
				time.Sleep(50 * time.Millisecond)
				other := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n")
				lost := false
				sim.suffer(func(conn int, args []string) simredis.Verdict {
					if lost || timeScript(args) != "release" {
						return simredis.Pass
					}
					lost = true
					return verdict
				})
				began := time.Now()
				hold := timeLock(t, t.Context(), other)
				require.True(t, lost)
				require.Less(t, time.Since(began), 2*time.Second)
				require.NoError(t, hold.unlock())
				time.Sleep(time.Second) // what is sent again was answered
				require.Zero(t, client.Stats().Kept+client.Stats().ReleasesOwed)
				require.False(t, sim.holds("n"))
			})
		})
	}
}

// A try that an idle lock of its own process is in the way of leaves when its context ends, though the release of that
// one is not answered.
func TestATryLeavesTheReleaseOfAnIdleLock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, _ := warmKept(t, sim, keepFor)
		sim.Freeze()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, _, err := rlock.New(client, "n").TryLock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, rlock.ErrBusy)
		require.Less(t, time.Since(began), 200*time.Millisecond)
		sim.Thaw()
		time.Sleep(2 * time.Second)
		require.False(t, sim.holds("n"))
		require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "n")).unlock())
	})
}

// A try that comes while its process releases an idle lock waits for that: nobody holds the lock.
func TestATryWaitsWhileAnIdleLockIsReleased(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(context.Context, *rlock.Lock) (context.Context, func() error, error){
		"TryLock": func(ctx context.Context, l *rlock.Lock) (context.Context, func() error, error) {
			return l.TryLock(ctx)
		},
		"of a set": func(ctx context.Context, l *rlock.Lock) (context.Context, func() error, error) {
			return multilock.New([]*rlock.Lock{l}).TryLock(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				_, lock := warmKept(t, sim, keepFor/9)
				released := make(chan struct{})
				var once sync.Once
				sim.suffer(func(_ int, args []string) simredis.Verdict {
					if timeScript(args) != "release" {
						return simredis.Pass
					}
					once.Do(func() { close(released) })
					return simredis.Delay(20 * time.Millisecond)
				})
				<-released
				_, unlock, err := take(t.Context(), lock)
				require.NoError(t, err)
				require.NoError(t, unlock())
			})
		})
	}
}

// A try that waits until an idle lock is released ends with the client.
func TestATryThatWaitsForAReleaseEndsWithTheClient(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, _ := warmKept(t, sim, keepFor)
		sim.Freeze()
		tried := make(chan error)
		go func() {
			_, _, err := rlock.New(client, "n").TryLock(t.Context())
			tried <- err
		}()
		time.Sleep(10 * time.Millisecond)
		closed := make(chan error)
		go func() { closed <- client.Close() }()
		err := <-tried
		require.ErrorIs(t, err, rlock.ErrClosed)
		require.NotErrorIs(t, err, rlock.ErrBusy)
		sim.Thaw()
		require.NoError(t, <-closed)
	})
}
