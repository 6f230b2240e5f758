package conformance

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var exclusion = []contract{
	{"NobodyElseIsInside", Exclusion, nobodyElseIsInside},
	{"AWaiterGetsInWhenTheHolderLeaves", Exclusion, aWaiterGetsIn},
	{"TryLockOfABusyLockIsErrBusy", Tries | Exclusion, tryLockOfABusyLock},
	{"DifferentNamesAreDifferentLocks", Exclusion, differentNames},
	{"GoroutinesUnderOneLockExcludeOneAnotherOnAnother", Exclusion, goroutinesExcludeOnB},
	{"TokensGrowWithEveryHold", Fencing | Knowledge, tokensGrow},
}

func unique(prefix string) string { return prefix + ":" + strconv.FormatUint(rand.Uint64(), 16) }

// The counter is a plain variable, so the race detector checks too. Handles are made anew all the time, because the
// name is what excludes.
func nobodyElseIsInside(t *testing.T, lab Lab) {
	const workers, rounds = 3, 15
	n, ctx := name(t), within(t)
	inside, total := 0, 0
	var all sync.WaitGroup
	for client := range 2 {
		for range workers {
			all.Go(func() {
				for range rounds {
					err := lab.Lock(client, n).Do(ctx, func(context.Context) error {
						inside++
						if inside != 1 {
							t.Errorf("%d owners inside", inside)
						}
						total++
						inside--
						return nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, 2*workers*rounds, total)
}

func aWaiterGetsIn(t *testing.T, lab Lab) {
	n := name(t)
	for _, waiter := range []int{0, 1} {
		_, unlock := take(t, within(t), lab.Lock(0, n))
		in := make(chan error, 1)
		go func() {
			_, unlock, err := lab.Lock(waiter, n).Lock(within(t))
			if err == nil {
				err = unlock()
			}
			in <- err // after the unlock: a test may not end before it
		}()
		busy(t, lab.Lock(1, n), "before the holder left")
		select {
		case err := <-in:
			t.Fatalf("the waiter came in beside the holder: %v", err)
		default:
		}
		require.NoError(t, unlock())
		require.NoError(t, await(t, in, "the waiter comes in"))
	}
}

func tryLockOfABusyLock(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	for client := range 2 {
		ctx := within(t)
		same, nothing, err := lab.Lock(client, n).TryLock(ctx)
		only(t, err, lock.ErrBusy)
		require.NoError(t, ctx.Err())
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		refused(t, ctx, same, nothing)
	}
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
	free(t, lab.Lock(0, n))
}

func differentNames(t *testing.T, lab Lab) {
	a, b := lab.Lock(0, name(t)), lab.Lock(0, name(t))
	inA, unlockA := take(t, within(t), a)
	inB, unlockB := take(t, inA, b)
	_, err := a.Held(inB)
	if lab.Lacks&Knowledge == 0 {
		require.NoError(t, err, "the inner lock hides the outer one's hold")
	}
	require.NoError(t, unlockA(), "the outer one first: order does not matter")
	require.ErrorIs(t, context.Cause(inB), lock.ErrReleased, "the inner context is a child")
	busy(t, b, "the hold of the inner lock is not over with its context")
	free(t, a)
	require.NoError(t, unlockB())
	free(t, b)
}

// Rule 2 of the package comment: they share A, and B excludes them.
func goroutinesExcludeOnB(t *testing.T, lab Lab) {
	a, b := lab.Lock(0, name(t)), name(t)
	inA, unlockA := take(t, within(t), a)
	inside := 0
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				err := lab.Lock(0, b).Do(inA, func(context.Context) error {
					inside++
					if inside != 1 {
						t.Errorf("%d goroutines inside", inside)
					}
					inside--
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, unlockA())
}

// Tokens grow by release, by passing inside a client and across clients; a re-entry keeps the token.
func tokensGrow(t *testing.T, lab Lab) {
	const workers, rounds = 4, 5
	n, ctx := name(t), within(t)
	var last int64
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			l := lab.Lock(worker%2, n)
			for range rounds {
				err := l.Do(ctx, func(ctx context.Context) error {
					held, err := l.Held(ctx)
					if err == nil && held.Fence <= last {
						t.Errorf("token %d after %d", held.Fence, last)
					}
					last = held.Fence
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Greater(t, last, 0)
}
