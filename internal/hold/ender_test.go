package hold_test

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// enderClient is a client of a simulated Redis.
func enderClient(t *testing.T) (*rlock.Client, *simredis.Server) {
	t.Helper()
	sim := simredis.New(t)
	client, err := rlock.NewClient(sim.Client(), &rlock.ClientOptions{
		Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return client, sim
}

func enderLock(t *testing.T, client *rlock.Client, name string, opts ...rlock.Option) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := rlock.New(client, name, opts...).Lock(context.Background())
	require.NoError(t, err)
	return held, unlock
}

// waits ends a context when it may go on.
func waits(goOn <-chan struct{}) func(end func()) {
	return func(end func()) {
		<-goOn
		end()
	}
}

// enderOver waits for a context's end, in virtual time.
func enderOver(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(time.Hour):
		t.Fatal("the context did not end")
	}
}

// enderEnds are the ways in which time, or a renewal, ends a hold or a level of one.
var enderEnds = map[string]func(t *testing.T, client *rlock.Client, sim *simredis.Server, name string) context.Context{
	"a fixed lease": func(t *testing.T, client *rlock.Client, _ *simredis.Server, name string) context.Context {
		held, _ := enderLock(t, client, name, rlock.FixedLease(time.Second))
		return held
	},
	"the longest hold": func(t *testing.T, client *rlock.Client, _ *simredis.Server, name string) context.Context {
		held, _ := enderLock(t, client, name, rlock.MaxHold(time.Second))
		return held
	},
	"the longest hold of a level": func(t *testing.T, client *rlock.Client, _ *simredis.Server, name string) context.Context {
		outer, _ := enderLock(t, client, name)
		held, _, err := rlock.New(client, name, rlock.MaxHold(time.Second)).Lock(outer)
		require.NoError(t, err)
		return held
	},
	"gone in Redis": func(t *testing.T, client *rlock.Client, sim *simredis.Server, name string) context.Context {
		held, _ := enderLock(t, client, name)
		sim.Miniredis().Del(name)
		return held
	},
}

// defect A6: a hold whose context takes long to end, because very many others were made from it, delays the
// end of no other hold: that comes before its lease is over in Redis.
func TestAContextThatEndsSlowlyDelaysNoOther(t *testing.T) {
	for slow, endSlow := range enderEnds {
		t.Run(slow, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, sim := enderClient(t)
				goOn := make(chan struct{})
				release := sync.OnceFunc(func() { close(goOn) })
				defer release()
				const slows = 5
				contexts := make([]context.Context, slows)
				for i := range contexts {
					contexts[i] = endSlow(t, client, sim, "slow"+strconv.Itoa(i))
					hold.OnEnd(contexts[i], waits(goOn))
				}
				began := time.Now()
				fixed, _ := enderLock(t, client, "fixed", rlock.FixedLease(1100*time.Millisecond))
				limited, _ := enderLock(t, client, "limited", rlock.MaxHold(1200*time.Millisecond))
				kept, unlock := enderLock(t, client, "kept")
				enderOver(t, fixed)
				require.Less(t, time.Since(began), 1100*time.Millisecond)
				enderOver(t, limited)
				require.LessOrEqual(t, time.Since(began), 1200*time.Millisecond)
				time.Sleep(time.Minute)
				require.NoError(t, kept.Err(), "it is renewed")
				require.NoError(t, unlock())
				for _, ctx := range contexts {
					require.NoError(t, ctx.Err())
				}
				release()
				synctest.Wait()
				for _, ctx := range contexts {
					require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost)
				}
				_ = client.Close()
			})
		})
	}
}

// defect A6: losses that come together delay no other one either: of 20,000 contexts each takes a little time to end.
func TestManyLossesAtOnceDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := holdfasttest.New(t).Client(nil)
		const losses, each = 20_000, 50 * time.Microsecond
		var ended atomic.Int64
		for i := range losses {
			held, _ := enderLock(t, client, strconv.Itoa(i), rlock.FixedLease(time.Second))
			hold.OnEnd(held, func(end func()) {
				time.Sleep(each)
				end()
				ended.Add(1)
			})
		}
		began := time.Now()
		fixed, _ := enderLock(t, client, "fixed", rlock.FixedLease(1100*time.Millisecond))
		limited, _ := enderLock(t, client, "limited", rlock.MaxHold(1200*time.Millisecond))
		enderOver(t, fixed)
		require.Less(t, time.Since(began), 1100*time.Millisecond)
		enderOver(t, limited)
		require.LessOrEqual(t, time.Since(began), 1200*time.Millisecond)
		_ = client.Close()
		require.EqualValues(t, losses, ended.Load())
	})
}

// defect A6: while the contexts that were made from one hold's end, others end too. That takes real time, and how much of it
// depends on the machine: if none was due meanwhile, it is tried with twice as many.
func TestManyContextsOfOneHoldDelayNoOther(t *testing.T) {
	client := holdfasttest.New(t).Client(nil)
	defer func() { _ = client.Close() }()
	for contexts := 100_000; contexts <= 800_000; contexts *= 2 {
		if enderBeside(t, client, contexts) > 0 {
			return
		}
	}
	t.Fatal("no hold has ended meanwhile")
}

// enderBeside has a hold end from which many contexts were made, and others one after the other. It returns how many of
// those ended while the contexts did.
func enderBeside(t *testing.T, client *rlock.Client, contexts int) (beside int) {
	name := strconv.Itoa(contexts)
	held, _ := enderLock(t, client, name)
	cancels := make([]func(), contexts)
	for i := range cancels {
		_, cancels[i] = context.WithTimeout(held, time.Hour)
	}
	var ending, ended atomic.Bool
	hold.OnEnd(held, func(end func()) {
		ending.Store(true)
		end()
		ended.Store(true)
	})
	_, _, err := rlock.New(client, name, rlock.MaxHold(hold.Tick)).Lock(held)
	require.NoError(t, err)
	for i := 0; !ended.Load(); i++ {
		during := ending.Load()
		other, _ := enderLock(t, client, name+"/"+strconv.Itoa(i), rlock.MaxHold(hold.Tick))
		<-other.Done()
		if during && !ended.Load() {
			beside++
		}
	}
	return beside
}

// However many take long, they are ended by few goroutines, which are gone when that is done.
func TestContextsAreEndedByFewGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := enderClient(t)
		goOn := make(chan struct{})
		const holds = 200
		contexts := make([]context.Context, holds)
		for i := range contexts {
			contexts[i], _ = enderLock(t, client, strconv.Itoa(i), rlock.FixedLease(time.Second))
			hold.OnEnd(contexts[i], waits(goOn))
		}
		before := runtime.NumGoroutine()
		time.Sleep(2 * time.Second)
		require.LessOrEqual(t, runtime.NumGoroutine(), before+holds/4)
		closed := make(chan struct{})
		go func() {
			_ = client.Close()
			close(closed)
		}()
		time.Sleep(time.Minute)
		close(goOn)
		<-closed
		for _, ctx := range contexts {
			require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost, "Close has waited for it")
		}
	})
}

// A caller that is told of a loss finds the context over, though the ender has not come to it: here it never does,
// because every goroutine that may end contexts is busy.
func TestACallThatTellsOfALossHasEndedTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := enderClient(t)
		goOn := make(chan struct{})
		for i := range 30 {
			ctx, _ := enderLock(t, client, "slow"+strconv.Itoa(i), rlock.FixedLease(time.Second))
			hold.OnEnd(ctx, waits(goOn))
		}
		time.Sleep(time.Second)
		for how, ask := range map[string]func(lock *rlock.Lock, held context.Context) error{
			"held": func(lock *rlock.Lock, held context.Context) error {
				_, err := lock.Held(held)
				return err
			},
			"entered again": func(lock *rlock.Lock, held context.Context) error {
				_, _, err := lock.Lock(held)
				return err
			},
			"exported": func(lock *rlock.Lock, held context.Context) error {
				_, err := lock.Export(held)
				return err
			},
		} {
			lock := rlock.New(client, how, rlock.FixedLease(time.Second))
			held, unlock, err := lock.Lock(context.Background())
			require.NoError(t, err)
			time.Sleep(2 * time.Second)
			require.NoError(t, held.Err(), "%s: the ender has not come to it", how)
			require.ErrorIs(t, ask(lock, held), rlock.ErrLost, how)
			require.ErrorIs(t, context.Cause(held), rlock.ErrLost, how)
			require.ErrorIs(t, unlock(), rlock.ErrLost, how)
		}
		close(goOn)
		synctest.Wait()
		_ = client.Close()
	})
}
