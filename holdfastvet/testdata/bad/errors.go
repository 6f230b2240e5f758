package bad

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/rlock"
)

func ignored(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, _ := lock.TryLock(ctx) // want `the error of TryLock is thrown away: what follows may run without the lock`
	return errors.Join(work(held), unlock())
}

func late(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.TryLock(ctx)
	_ = work(held) // want `the error of TryLock is not looked at before this: it may run without the lock`
	if err != nil {
		return err
	}
	return unlock()
}

func lateAfterDefer(ctx context.Context, lock *rlock.Lock) (err error) {
	ctx, unlock, err := lock.Lock(ctx)
	defer func() { err = errors.Join(err, unlock()) }()
	return work(ctx) // want `the error of Lock is not looked at before this`
}

func bare(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock() // want `the error of unlock is dropped, and with it the loss of the lock: join it to a named result, or use Do`
	return work(ctx)
}

func bareInAFunction(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		unlock() // want `the error of unlock is dropped`
	}()
	return work(ctx)
}

func unnamed(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }() // want `err is no named result: the function has returned when`
	return work(ctx)
}

func shadowedResult(ctx context.Context, lock *rlock.Lock, locks bool) (err error) {
	if locks {
		held, unlock, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }() // want `err is no named result`
		return work(held)
	}
	return nil
}

func statement(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = work(ctx)
	unlock() // want `the error of unlock is dropped, and with it the loss of the lock: return it with that of the work, or use Do`
	return err
}

func inTheBackground(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = work(ctx)
	go unlock() // want `the error of unlock is dropped`
	return err
}

func afterSuccess(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := work(ctx); err == nil {
		unlock() // want `the error of unlock is dropped`
		return nil
	}
	return unlock()
}

func byDo(ctx context.Context, lock *rlock.Lock) {
	lock.Do(ctx, func(ctx context.Context) error { return work(ctx) }) // want `the error of Do is dropped, and with it whether the work was done, and with the lock held`
}

type owner struct {
	ctx    context.Context
	unlock func() error
}

func (o *owner) start(ctx context.Context, lock *rlock.Lock) (err error) {
	o.ctx, o.unlock, err = lock.Lock(ctx)
	return err
}

func (o *owner) stop() {
	o.unlock() // want `the error of unlock is dropped`
}
