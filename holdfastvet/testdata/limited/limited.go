// Package limited has holds that end by themselves, which need no unlock, and others beside them that do.
package limited

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

func onceAnHour(ctx context.Context, client *rlock.Client, work func(context.Context) error) error {
	held, _, err := rlock.New(client, "report", rlock.FixedLease(time.Hour)).TryLock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}

func bounded(ctx context.Context, client *rlock.Client, work func(context.Context) error) error {
	held, _, err := rlock.New(client, "report", rlock.MaxHold(time.Hour)).TryLock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}

// retried keeps the lock for the hour only if the work was done.
func retried(ctx context.Context, client *rlock.Client, work func(context.Context) error) error {
	held, unlock, err := rlock.New(client, "report", rlock.FixedLease(time.Hour)).TryLock(ctx)
	if err != nil {
		return err
	}
	if err := work(held); err != nil {
		return rlock.Join(err, unlock())
	}
	return nil
}

// given may have any options.
func given(ctx context.Context, lock *rlock.Lock, work func(context.Context) error) error {
	held, _, err := lock.TryLock(ctx)
	if err != nil {
		return err
	}
	return work(held)
}

func withoutALimit(ctx context.Context, client *rlock.Client, work func(context.Context) error) error {
	held, _, err := rlock.New(client, "order", rlock.MaxWait(time.Second)).Lock(ctx) // want `what unlocks is thrown away: the lock stays held until the client is closed`
	if err != nil {
		return err
	}
	return work(held)
}

func withoutALimitOnOneWay(ctx context.Context, client *rlock.Client, work func(context.Context) error, dry bool) error {
	held, unlock, err := rlock.New(client, "order").Lock(ctx)
	if err != nil {
		return err
	}
	if dry {
		return nil // want `unlock is not called on this way out: the lock stays held until the client is closed`
	}
	return rlock.Join(work(held), unlock())
}

func boundedOnOneWay(ctx context.Context, client *rlock.Client, work func(context.Context) error, dry bool) error {
	held, unlock, err := rlock.New(client, "order", rlock.MaxHold(time.Hour)).Lock(ctx)
	if err != nil {
		return err
	}
	if dry {
		return nil // want `unlock is not called on this way out: the lock stays held until its MaxHold, or until the client is closed`
	}
	return rlock.Join(work(held), unlock())
}
