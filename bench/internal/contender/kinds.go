package contender

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func init() {
	openers[OursRead] = openOf(func(client *rlock.Client, names []string) rlock.Locker {
		return rwlock.New(client, names[0]).Read()
	})
	openers[OursKept] = openOurs
	openers[OursPermit] = openOf(func(client *rlock.Client, names []string) rlock.Locker {
		return permit{semaphore.New(client, names[0])}
	})
}

func openOf(lock func(*rlock.Client, []string) rlock.Locker) Opener {
	return func(t Target) (Client, error) { return openOver(t, lock) }
}

// permit is one of a semaphore's, taken like a lock.
type permit struct{ of *semaphore.Semaphore }

func (p permit) Lock(ctx context.Context) (context.Context, func() error, error) {
	return p.of.Acquire(ctx, 1)
}

func (p permit) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return p.of.TryAcquire(ctx, 1)
}

func (p permit) Do(ctx context.Context, fn func(context.Context) error) error {
	return p.of.Do(ctx, 1, fn)
}

// SetPermits gives the semaphore of a handle of OursPermit its capacity.
func SetPermits(ctx context.Context, l Lock, n int64) error {
	return l.(*oursLock).lock.(permit).of.SetCapacity(ctx, n)
}

// Writer makes a handle on the other side of what a client of OursRead reads.
func Writer(c Client, name string) Lock {
	return &oursLock{lock: rwlock.New(c.(*oursClient).client, name).Write()}
}

// Latch makes a latch of a client of Ours.
func Latch(c Client, name string) *latch.Latch { return latch.New(c.(*oursClient).client, name) }

// Trier is a handle that can ask without waiting. Where it gets the lock, Unlock frees it.
type Trier interface {
	TryLock(ctx context.Context) (got bool, err error)
}

// tried tells a refusal from a failure.
func tried(err, refusal error) (bool, error) {
	if errors.Is(err, refusal) {
		return false, nil
	}
	return err == nil, err
}
