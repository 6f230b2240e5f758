package seeds

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

func deferredInALoop(ctx context.Context, client *rlock.Client, names []string) (err error) {
	for _, name := range names {
		held, unlock, e := rlock.New(client, name).Lock(ctx)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, unlock()) }() // want `unlock is deferred in a loop: the hold of each turn lasts until the function returns. Unlock in the turn, or give its context to the next Lock`
		if e := work(held); e != nil {
			return e
		}
	}
	return nil
}

func deferredForTheNextTurn(ctx context.Context, lock *rlock.Lock) (err error) {
	for range 3 {
		held, unlock, e := lock.Lock(ctx)
		if errors.Is(e, rlock.ErrBusy) {
			continue
		}
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, unlock(), held.Err()) }() // want `unlock is deferred in a loop`
	}
	return nil
}

func upgrade(ctx context.Context, lock *rwlock.Lock) error {
	return lock.Read().Do(ctx, func(held context.Context) error {
		return lock.Write().Do(held, work0) // want `this Do fails with ErrUpgrade, unless a caller holds the write side: held carries a read hold of the same lock`
	})
}

func upgradeByHand(ctx context.Context, client *rlock.Client) (err error) {
	read, write := rwlock.New(client, "order").Read(), rwlock.New(client, "order").Write()
	ctx, unlock, err := read.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	ctx, leave, err := write.TryLock(ctx) // want `this TryLock fails with ErrUpgrade, unless a caller holds the write side: ctx carries`
	if err != nil {
		return err
	}
	return errors.Join(work(ctx), leave())
}

func upgradeFromNowhere(ctx context.Context, lock *rwlock.Lock) error {
	return lock.Read().Do(ctx, func(context.Context) error {
		return lock.Write().Do(context.Background(), work0) // want `this Do does not know that the lock is held, and waits for its own caller`
	})
}

func upgradeInsideAnotherLock(ctx context.Context, lock *rwlock.Lock, another *rlock.Lock) error {
	return lock.Read().Do(ctx, func(ctx context.Context) error {
		return another.Do(ctx, func(ctx context.Context) error {
			return lock.Write().Do(ctx, work0) // want `this Do fails with ErrUpgrade`
		})
	})
}
