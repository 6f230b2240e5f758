package seeds

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

func errorThrownAway(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, _ := lock.TryLock(ctx) // want `the error of TryLock is thrown away`
	return errors.Join(work(held), unlock())
}

func errorLookedAtLate(ctx context.Context, e *leader.Election) error {
	term, resign, err := e.Campaign(ctx)
	done := work(term) // want `the error of Campaign is not looked at before this: it may run without the lock`
	if err != nil {
		return err
	}
	return errors.Join(done, resign())
}

func lossDropped(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock() // want `the error of unlock is dropped, and with it the loss of the lock`
	return work(held)
}

func lossDroppedInAFunction(ctx context.Context, e *leader.Election) error {
	term, resign, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	defer func() {
		resign() // want `the error of resign is dropped, and with it the loss of the lock`
	}()
	return work(term)
}

func lossStoredTooLate(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }() // want `err is no named result`
	return work(held)
}

func lossDroppedByAStatement(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = work(held)
	unlock() // want `the error of unlock is dropped, and with it the loss of the lock`
	return err
}

func errorOfDoDropped(ctx context.Context, lock *rlock.Lock) {
	lock.Do(ctx, work0) // want `the error of Do is dropped, and with it whether the work was done, and with the lock held`
}

func errorOfRunDropped(ctx context.Context, e *leader.Election) {
	go e.Run(ctx, work0) // want `the error of Run is dropped`
}
