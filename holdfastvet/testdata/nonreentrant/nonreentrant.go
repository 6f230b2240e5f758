// Package nonreentrant has calls that a handle refuses, and others beside them that look alike.
package nonreentrant

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func work(context.Context) error { return nil }

func inside(ctx context.Context, client *rlock.Client) error {
	lock := rlock.New(client, "order", rlock.NonReentrant())
	return lock.Do(ctx, func(held context.Context) error {
		return lock.Do(held, work) // want `this Do always fails: held carries a hold of the same lock, and the handle is NonReentrant`
	})
}

func byHand(ctx context.Context, client *rlock.Client) (err error) {
	lock := rlock.New(client, "order", rlock.NonReentrant())
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	made := context.WithValue(held, "key", "value")
	again, leave, err := lock.TryLock(made) // want `this TryLock always fails: made carries`
	if err != nil {
		return err
	}
	return errors.Join(work(again), leave())
}

func byAnotherHandle(ctx context.Context, client *rlock.Client, name string) error {
	return rlock.New(client, name).Do(ctx, func(held context.Context) error {
		return rlock.New(client, name, rlock.NonReentrant()).Do(held, work) // want `this Do always fails`
	})
}

func theOtherSide(ctx context.Context, client *rlock.Client) error {
	lock := rwlock.New(client, "order", rlock.NonReentrant())
	return lock.Write().Do(ctx, func(held context.Context) error {
		return lock.Read().Do(held, work) // want `this Do always fails`
	})
}

func permits(ctx context.Context, client *rlock.Client) error {
	printers := semaphore.New(client, "printers", rlock.NonReentrant())
	return printers.Do(ctx, 1, func(held context.Context) error {
		return printers.Do(held, 1, work) // want `this Do always fails`
	})
}

func sets(ctx context.Context, a, b *rlock.Lock) error {
	both := multilock.New([]*rlock.Lock{a, b}, rlock.NonReentrant())
	return both.Do(ctx, func(held context.Context) error {
		return both.Do(held, work) // want `this Do always fails`
	})
}

// The handle that is called has no such option, or is of another lock, or nobody knows, or the work queues.
func others(ctx context.Context, client *rlock.Client, given *rlock.Lock, opts []rlock.Option) error {
	lock := rlock.New(client, "order", rlock.NonReentrant())
	return lock.Do(ctx, func(held context.Context) error {
		return errors.Join(
			rlock.New(client, "order").Do(held, work),
			rlock.New(client, "items", rlock.NonReentrant()).Do(held, work),
			rlock.New(client, "order", opts...).Do(held, work),
			given.Do(held, work),
			lock.Do(rlock.WithoutHolds(held), work),
		)
	})
}
