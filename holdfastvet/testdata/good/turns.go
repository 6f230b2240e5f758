package good

import (
	"context"
	"errors"
	"log"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// An error of unlock may be dropped beside one that the caller learns of, where the program ends, and where the code
// says that it is.
func dropsBesideAFailure(ctx context.Context, lock *rlock.Lock, kind string) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := work(held, 1); err != nil {
		unlock()
		return err
	}
	switch err := work(held, 2); {
	case errors.Is(err, rlock.ErrLost):
		unlock()
		return err
	case kind == "none":
		unlock()
		panic("no such kind")
	case kind == "any":
		_ = unlock()
		return nil
	}
	return rlock.Join(work(held, 3), unlock())
}

func dropsAfterFailureOnly(ctx context.Context, lock *rlock.Lock) (held context.Context, unlock func() error, err error) {
	held, unlock, err = lock.Lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	return held, unlock, work(held)
}

func dropsWithAWord(ctx context.Context, lock *rlock.Lock, e *leader.Election) {
	_ = lock.Do(ctx, func(ctx context.Context) error { return work(ctx) })
	go func() { log.Print(e.Run(ctx, func(ctx context.Context) error { return work(ctx) })) }()
}

// Several locks are gathered for one piece of work.
func gathered(ctx context.Context, locks []*rlock.Lock) (err error) {
	for _, lock := range locks {
		var unlock func() error
		if ctx, unlock, err = lock.Lock(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	return work(ctx)
}

func gatheredByName(ctx context.Context, client *rlock.Client, names []string) (err error) {
	for _, name := range names {
		held, unlock, e := rlock.New(client, name).Lock(ctx)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, unlock()) }()
		ctx = held
	}
	return work(ctx)
}

func gatheredWithTheirContexts(ctx context.Context, client *rlock.Client, names []string) (err error) {
	var all []context.Context
	for _, name := range names {
		held, unlock, e := rlock.New(client, name).Lock(ctx)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, unlock()) }()
		all = append(all, held)
	}
	return work(all[0], all)
}

func gatheredPermits(ctx context.Context, s *semaphore.Semaphore, n int) (err error) {
	for range n {
		_, release, e := s.Acquire(ctx, 1)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	return nil
}

// The loop ends with the first hold.
func tried(ctx context.Context, lock *rlock.Lock) (err error) {
	for ctx.Err() == nil {
		held, unlock, e := lock.TryLock(ctx)
		if errors.Is(e, rlock.ErrBusy) {
			continue
		}
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, unlock()) }()
		return work(held)
	}
	return ctx.Err()
}

func eachInAFunction(ctx context.Context, client *rlock.Client, names []string) error {
	for _, name := range names {
		err := func() (err error) {
			held, unlock, err := rlock.New(client, name).Lock(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, unlock()) }()
			return work(held)
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// A downgrade, a write side that is still held, a queue of its own, another lock, and a write after the read.
func sides(ctx context.Context, lock, another *rwlock.Lock, work func(context.Context) error) error {
	return errors.Join(
		lock.Write().Do(ctx, func(ctx context.Context) error { return lock.Read().Do(ctx, work) }),
		lock.Write().Do(ctx, func(ctx context.Context) error {
			return lock.Read().Do(ctx, func(ctx context.Context) error { return lock.Write().Do(ctx, work) })
		}),
		lock.Read().Do(ctx, func(ctx context.Context) error { return another.Write().Do(ctx, work) }),
		lock.Read().Do(ctx, func(held context.Context) error {
			return another.Write().Do(rlock.WithoutHolds(held), func(held context.Context) error {
				return another.Write().Do(held, work)
			})
		}),
		lock.Read().Do(ctx, func(ctx context.Context) error {
			return another.Write().Do(ctx, func(ctx context.Context) error { return another.Read().Do(ctx, work) })
		}),
		lock.Read().Do(ctx, func(ctx context.Context) error { return lock.Read().Do(context.Background(), work) }),
		lock.Read().Do(ctx, work), lock.Write().Do(ctx, work),
	)
}

func readThenWrite(ctx context.Context, lock *rwlock.Lock) error {
	held, unlock, err := lock.Read().Lock(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(work(held), unlock()); err != nil {
		return err
	}
	return lock.Write().Do(ctx, func(ctx context.Context) error { return work(ctx) })
}
