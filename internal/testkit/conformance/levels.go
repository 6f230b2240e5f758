package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var levels = []contract{
	{"ALockInsideAHoldIsOneMoreLevel", Reentry | Knowledge, oneMoreLevel},
	{"LevelsMayBeUnlockedInAnyOrder", Reentry, anyOrder},
	{"ASecondUnlockIsErrNotHeldAndChangesNothing", Reentry, secondUnlock},
	{"UnlocksAtOneTimeFreeOnce", 0, unlocksAtOneTime},
	{"UnlockWorksFromAnotherGoroutine", 0, unlockElsewhere},
	{"UnlockWorksAfterTheContextEnded", 0, unlockAfterTheEnd},
	{"AnUnlockOfThePastLeavesTheNextHolderAlone", 0, unlockOfThePast},
	{"GoroutinesGivenTheContextAreInsideTogether", Reentry, insideTogether},
	{"WithoutHoldsQueues", Tries | Exclusion, withoutHolds},
	{"WithoutCancelKeepsTheHold", Reentry, withoutCancel},
	{"NonReentrantRefusesTheContextOfAHold", Options, nonReentrant},
	{"AnExportedHoldMovesOnce", Moves | Knowledge, movesOnce},
}

func oneMoreLevel(t *testing.T, lab Lab) {
	n := name(t)
	ctx := within(t)
	var unlocks []func() error
	var first lock.Hold
	for depth := 1; depth <= 4; depth++ {
		l := lab.Lock(0, n) // another handle each time: only the name counts
		enter := l.Lock
		if depth%2 == 0 {
			enter = l.TryLock
		}
		held, unlock, err := enter(ctx)
		require.NoError(t, err)
		hold, err := l.Held(held)
		require.NoError(t, err)
		require.Equal(t, depth, hold.Count)
		if depth == 1 {
			first = hold
		}
		require.Equal(t, first.ID, hold.ID)
		require.Equal(t, first.Fence, hold.Fence, "a re-entry keeps the token")
		ctx, unlocks = held, append(unlocks, unlock)
	}
	for i := len(unlocks) - 1; i >= 0; i-- {
		busy(t, lab.Lock(1, n), "a level is left")
		require.NoError(t, unlocks[i]())
	}
	free(t, lab.Lock(1, n))
}

func anyOrder(t *testing.T, lab Lab) {
	n := name(t)
	l, other := lab.Lock(0, n), lab.Lock(1, n)
	outer, unlockOuter := take(t, within(t), l)
	_, unlockOne := take(t, outer, l)
	_, unlockTwo := take(t, outer, l)
	for _, unlock := range []func() error{unlockOuter, unlockTwo} {
		require.NoError(t, unlock())
		busy(t, other, "a level is left")
	}
	require.NoError(t, unlockOne())
	free(t, other)
}

func secondUnlock(t *testing.T, lab Lab) {
	n := name(t)
	l, other := lab.Lock(0, n), lab.Lock(1, n)
	outer, unlockOuter := take(t, within(t), l)
	inner, unlockInner := take(t, outer, l)
	require.NoError(t, unlockInner())
	require.ErrorIs(t, ended(t, inner), lock.ErrReleased)
	for range 3 {
		only(t, unlockInner(), lock.ErrNotHeld)
	}
	require.NoError(t, outer.Err(), "the outer level is untouched")
	busy(t, other, "the outer level is untouched")
	_, again := take(t, outer, l)
	require.NoError(t, again())
	require.NoError(t, unlockOuter())
	only(t, unlockOuter(), lock.ErrNotHeld)
	free(t, other)
}

func unlocksAtOneTime(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	results := make(chan error, 8)
	var all sync.WaitGroup
	for range cap(results) {
		all.Go(func() { results <- unlock() })
	}
	all.Wait()
	close(results)
	freed := 0
	for err := range results {
		if err == nil {
			freed++
			continue
		}
		only(t, err, lock.ErrNotHeld)
	}
	require.Equal(t, 1, freed)
	free(t, lab.Lock(1, n))
}

func unlockElsewhere(t *testing.T, lab Lab) {
	n := name(t)
	type hold struct {
		ctx    context.Context
		unlock func() error
	}
	made := make(chan hold)
	go func() {
		ctx, unlock, err := lab.Lock(0, n).Lock(within(t))
		if err != nil {
			t.Error(err)
		}
		made <- hold{ctx, unlock}
	}()
	h := await(t, made, "the lock is held")
	require.NoError(t, h.unlock())
	require.ErrorIs(t, ended(t, h.ctx), lock.ErrReleased)
	free(t, lab.Lock(1, n))
}

func unlockAfterTheEnd(t *testing.T, lab Lab) {
	n := name(t)
	ctx, cancel := context.WithCancel(within(t))
	held, unlock := take(t, ctx, lab.Lock(0, n))
	cancel()
	require.ErrorIs(t, ended(t, held), context.Canceled)
	busy(t, lab.Lock(1, n), "the end of the parent ends the context, not the hold")
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

// etcd's #22082: a stale unlock that names only the owner frees the owner's next hold.
func unlockOfThePast(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	_, old := take(t, within(t), l)
	require.NoError(t, old())
	next, unlock := take(t, within(t), l)
	only(t, old(), lock.ErrNotHeld)
	require.NoError(t, next.Err())
	busy(t, lab.Lock(1, n), "the next hold of the same handle stands")
	require.NoError(t, unlock())
}

// Every goroutine with the context holds the lock: two meet inside, which only works if neither waits.
func insideTogether(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	var met, all sync.WaitGroup
	met.Add(2)
	for range 2 {
		all.Go(func() {
			err := lab.Lock(0, n).Do(held, func(context.Context) error {
				met.Done()
				met.Wait()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	busy(t, lab.Lock(1, n), "the outer level is left")
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

func withoutHolds(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	held, unlock := take(t, within(t), l)
	stranger := lock.WithoutHolds(held)
	_, err := l.Held(stranger)
	require.ErrorIs(t, err, lock.ErrNotHeld)
	_, _, err = l.TryLock(stranger)
	require.ErrorIs(t, err, lock.ErrBusy, "without the hold one queues like everybody else")

	in := make(chan error, 1)
	long := context.WithoutCancel(stranger)
	go func() {
		_, unlock, err := l.Lock(long)
		if err == nil {
			err = unlock()
		}
		in <- err
	}()
	require.NoError(t, unlock())
	require.NoError(t, await(t, in, "the other caller comes in after the holder"))
}

func withoutCancel(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	held, unlock := take(t, within(t), l)
	_, inner := take(t, context.WithoutCancel(held), l)
	require.NoError(t, inner())
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

// A handle that is not reentrant refuses the context of a hold, sends nothing and leaves the hold as it is.
func nonReentrant(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n, lock.NonReentrant())
	held, unlock := take(t, within(t), l)
	sendsNothing(t, lab, func() {
		for _, enter := range []func(context.Context) (context.Context, func() error, error){l.Lock, l.TryLock} {
			same, nothing, err := enter(context.WithoutCancel(held))
			var entered *lock.ReentryError
			require.True(t, errors.As(err, &entered), "%v", err)
			only(t, err, nil)
			require.NotEmpty(t, entered.Place)
			require.ErrorIs(t, nothing(), lock.ErrNotHeld)
			require.NoError(t, same.Err())
		}
		err := l.Do(held, func(context.Context) error {
			t.Error("the work is done all the same")
			return nil
		})
		var entered *lock.ReentryError
		require.True(t, errors.As(err, &entered), "%v", err)
	}, "a call that is refused")
	require.NoError(t, held.Err())
	busy(t, lab.Lock(1, n), "it is held as before")
	require.NoError(t, unlock())
	again, unlock := take(t, within(t), l)
	require.NoError(t, again.Err())
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

// mover is a lock whose holds can go to another process.
type mover interface {
	Export(ctx context.Context) (token string, err error)
	Import(ctx context.Context, token string) (held context.Context, unlock func() error, err error)
}

func movesOnce(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	m, moves := l.(mover)
	require.True(t, moves, "a lock without Export and Import lacks Moves")
	held, unlock := take(t, within(t), l)
	hold, err := l.Held(held)
	require.NoError(t, err)
	token, err := m.Export(held)
	require.NoError(t, err)
	require.ErrorIs(t, ended(t, held), lock.ErrReleased)
	require.ErrorIs(t, unlock(), lock.ErrNotHeld)
	busy(t, lab.Lock(1, n), "nobody has it, and it is held")

	for what, made := range madeUp(t, token, hold.ID) {
		ctx := within(t)
		same, nothing, err := m.Import(ctx, made)
		var bad *lock.ArgumentError
		if !errors.As(err, &bad) {
			only(t, err, lock.ErrNotHeld)
		}
		refused(t, ctx, same, nothing)
		busy(t, lab.Lock(1, n), what)
	}
	moved, unlock, err := m.Import(within(t), token)
	require.NoError(t, err)
	again, err := l.Held(moved)
	require.NoError(t, err)
	require.Equal(t, hold.Fence, again.Fence)
	require.True(t, hold.ID != again.ID, "what the exporter sent late cannot touch it")
	_, _, err = m.Import(within(t), token)
	only(t, err, lock.ErrNotHeld)
	require.NoError(t, moved.Err())
	require.NoError(t, unlock())
	free(t, lab.Lock(1, n))
}

// madeUp are tokens like one of Export: with other values in it, and of the id that the hold had.
func madeUp(t *testing.T, token, id string) map[string]string {
	text, err := base64.RawURLEncoding.DecodeString(token)
	require.NoError(t, err)
	made := make(map[string]string)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for name, was := range fields {
		for _, value := range []any{id, int64(1) << 62, int64(8_993_000_000_000_000), -1, nil} {
			if was == 0.0 && value == nil {
				continue // the same: readers may have no token
			}
			fields[name] = value
			text, err := json.Marshal(fields)
			require.NoError(t, err)
			made[fmt.Sprint(name, " is ", value)] = base64.RawURLEncoding.EncodeToString(text)
		}
		fields[name] = was
	}
	return made
}
