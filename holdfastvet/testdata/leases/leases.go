// Package leases has leases that change nothing, and others beside them that look alike.
package leases

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

const order = "order"

func work(context.Context) error { return nil }

func chained(ctx context.Context, client *rlock.Client) error {
	return rlock.New(client, "order").Do(ctx, func(held context.Context) error {
		return rlock.New(client, order, rlock.FixedLease(time.Minute)).Do(held, work) // want `this FixedLease changes nothing: held carries a hold of the same lock, and the outermost Lock decided the lease`
	})
}

func byVariables(ctx context.Context, client *rlock.Client, name string) (err error) {
	outer := rlock.New(client, name, rlock.FixedLease(time.Minute))
	inner := rlock.New(client, name, rlock.MaxWait(time.Second), rlock.Lease(time.Hour)) // want `this Lease changes nothing: ctx carries`
	ctx, unlock, err := outer.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return inner.Do(ctx, work)
}

func madeFromIt(ctx context.Context, client *rlock.Client, name string) (err error) {
	held, unlock, err := fairlock.New(client, name).TryLock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	short, cancel := context.WithTimeout(held, time.Second)
	defer cancel()
	again, leave, err := fairlock.New(client, name, rlock.Lease(time.Minute)).Lock(short) // want `this Lease changes nothing: short carries`
	if err != nil {
		return err
	}
	return errors.Join(work(again), leave())
}

func sides(ctx context.Context, client *rlock.Client) error {
	return rwlock.New(client, order).Write().Do(ctx, func(held context.Context) error {
		return errors.Join(
			rwlock.New(client, order, rlock.Lease(time.Minute)).Read().Do(held, work),
			rwlock.New(client, order, rlock.Lease(time.Minute)).Write().Do(held, work), // want `this Lease changes nothing`
		)
	})
}

// No hold of the same lock, or nobody knows.
func others(ctx context.Context, client, second *rlock.Client, lock *rlock.Lock, name string) error {
	return rlock.New(client, name).Do(ctx, func(held context.Context) error {
		changes := rlock.New(client, name, rlock.Lease(time.Minute))
		if name == "" {
			changes = rlock.New(second, "another", rlock.Lease(time.Minute))
		}
		return errors.Join(
			changes.Do(held, work),
			rlock.New(second, name, rlock.Lease(time.Minute)).Do(held, work),
			rlock.New(client, name+"/items", rlock.Lease(time.Minute)).Do(held, work),
			fairlock.New(client, name, rlock.Lease(time.Minute)).Do(held, work),
			rlock.New(client, name, rlock.MaxHold(time.Minute)).Do(held, work),
			lock.Do(held, work),
		)
	})
}

func anotherName(ctx context.Context, client *rlock.Client, name string) error {
	return rlock.New(client, name).Do(ctx, func(held context.Context) error {
		name = "another"
		return rlock.New(client, name, rlock.Lease(time.Minute)).Do(held, work)
	})
}

// The handle is the one that decided it.
func itsOwn(ctx context.Context, client *rlock.Client) error {
	lock := rlock.New(client, order, rlock.FixedLease(time.Minute))
	return lock.Do(ctx, func(held context.Context) error { return lock.Do(held, work) })
}

// The lock is not held any more.
func afterwards(ctx context.Context, client *rlock.Client) error {
	held, unlock, err := rlock.New(client, order).Lock(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(work(held), unlock()); err != nil {
		return err
	}
	return rlock.New(client, order, rlock.Lease(time.Minute)).Do(ctx, work)
}
