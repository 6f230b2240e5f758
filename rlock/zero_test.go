package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// usable is what every lock can do that is used like one.
type usable interface {
	Lock(ctx context.Context) (context.Context, func() error, error)
	TryLock(ctx context.Context) (context.Context, func() error, error)
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// What did not come from its constructor, or came from one with a client that did not, says so in every call and does
// not panic: a forgotten error of NewClient shows itself in one line (defect G8).
func TestValuesThatNobodyMade(t *testing.T) {
	ctx, work := t.Context(), func(context.Context) error { panic("it holds the lock") }
	refused := func(t *testing.T, err error) {
		t.Helper()
		var bad *lock.ArgumentError
		require.ErrorAs(t, err, &bad)
	}
	for name, client := range map[string]*rlock.Client{"nil": nil, "zero": new(rlock.Client)} {
		t.Run("client "+name, func(t *testing.T) {
			refused(t, client.Close())
			require.Zero(t, client.Stats())
		})
	}
	for name, client := range map[string]*redlock.Client{"nil": nil, "zero": new(redlock.Client)} {
		t.Run("quorum "+name, func(t *testing.T) {
			refused(t, client.Close())
			require.Zero(t, client.Stats())
		})
	}
	for name, l := range map[string]usable{
		"a nil lock": (*rlock.Lock)(nil), "a zero lock": new(rlock.Lock),
		"of no client": rlock.New(nil, "a"), "of a zero client": rlock.New(new(rlock.Client), "a"),
		"fair": fairlock.New(nil, "a"), "read": rwlock.New(nil, "a").Read(), "write": rwlock.New(nil, "a").Write(),
		"a side of a nil lock": (*rwlock.Lock)(nil).Read(), "a side of a zero lock": new(rwlock.Lock).Write(),
		"quorum": redlock.New(nil, "a"), "of a zero quorum": redlock.New(new(redlock.Client), "a"),
		"a nil set": (*multilock.Lock)(nil), "a zero set": new(multilock.Lock), "an empty set": multilock.New(nil),
		"a set with nil": multilock.New([]*rlock.Lock{nil}),
	} {
		t.Run(name, func(t *testing.T) {
			got, unlock, err := l.Lock(ctx)
			refused(t, err)
			require.Equal(t, ctx, got)
			require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
			_, _, err = l.TryLock(ctx)
			refused(t, err)
			refused(t, l.Do(ctx, work))
		})
	}
	for name, s := range map[string]*semaphore.Semaphore{
		"nil": nil, "zero": new(semaphore.Semaphore), "of no client": semaphore.New(nil, "a"),
	} {
		t.Run("semaphore "+name, func(t *testing.T) {
			_, _, err := s.Acquire(ctx, 1)
			refused(t, err)
			_, _, err = s.TryAcquire(ctx, 1)
			refused(t, err)
			refused(t, s.Do(ctx, 1, work))
			refused(t, s.SetCapacity(ctx, 1))
			_, err = s.Available(ctx)
			refused(t, err)
			refused(t, s.Delete(ctx))
			_, err = s.Inspect(ctx)
			refused(t, err)
			refused(t, s.Break(ctx, "x"))
			_, err = s.Held(ctx)
			refused(t, err)
			_ = s.Name()
		})
	}
	for name, s := range map[string]*semaphore.Counting{
		"nil": nil, "zero": new(semaphore.Counting), "of no client": semaphore.NewCounting(nil, "a"),
	} {
		t.Run("counting "+name, func(t *testing.T) {
			refused(t, s.Acquire(ctx, 1))
			refused(t, s.TryAcquire(ctx, 1))
			refused(t, s.Release(ctx, 1))
			refused(t, s.Set(ctx, 1))
			_, err := s.Available(ctx)
			refused(t, err)
			_ = s.Name()
		})
	}
	for name, l := range map[string]*latch.Latch{
		"nil": nil, "zero": new(latch.Latch), "of no client": latch.New(nil, "a"),
	} {
		t.Run("latch "+name, func(t *testing.T) {
			refused(t, l.Set(ctx, 1))
			refused(t, l.SetFor(ctx, 1, time.Second))
			refused(t, l.CountDown(ctx))
			refused(t, l.Wait(ctx))
			_, err := l.Count(ctx)
			refused(t, err)
			refused(t, l.Delete(ctx))
			_ = l.Name()
		})
	}
}
