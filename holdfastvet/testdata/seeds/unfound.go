package seeds

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/rlock"
)

// A panic of work leaves the lock held. Much correct code unlocks at its end, where nothing panics that is not meant
// to end the process.
func notDeferred(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = work(held)
	return errors.Join(err, unlock())
}

// job keeps a context, which is followed into no field.
type job struct{ ctx context.Context }

func (j job) run() error { return work(j.ctx) }

func inAField(ctx context.Context, lock *rlock.Lock) error {
	j := job{ctx}
	return lock.Do(ctx, func(context.Context) error { return j.run() })
}

// What a variable of a function does with the context that it knows is not looked at: it may be meant to outlive the
// hold.
func inAVariable(ctx context.Context, lock *rlock.Lock) error {
	step := func() error { return work(ctx) }
	return lock.Do(ctx, func(context.Context) error { return step() })
}

// Whether the goroutine goes on until the hold ends, as it should, stands in another package.
func inAnotherPackage(ctx context.Context, lock *rlock.Lock, serve func(context.Context)) error {
	return lock.Do(ctx, func(held context.Context) error {
		go serve(held)
		return nil
	})
}

// A context that ended with Do is followed into no variable outside.
func keptAfterDo(ctx context.Context, lock *rlock.Lock) error {
	var kept context.Context
	err := lock.Do(ctx, func(held context.Context) error {
		kept = held
		return nil
	})
	return errors.Join(err, work(kept))
}
