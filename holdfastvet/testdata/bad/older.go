// Package bad has every misuse that is found.
package bad

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func work(context.Context, ...any) error { return nil }

func named(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		_ = work(ctx)
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := work(ctx, held); err != nil { // want `ctx is older than the hold: use held, which Lock returned`
		return errors.Join(err, work(ctx)) // want `ctx is older than the hold`
	}
	return work(held)
}

func thrownAway(ctx context.Context, lock *rlock.Lock) (err error) {
	_, unlock, err := lock.TryLock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work(ctx) // want `ctx is used while the lock is held, and the context that TryLock returned is thrown away`
}

func shadowed(ctx context.Context, lock *rwlock.Lock, writes bool) (err error) {
	if writes {
		ctx, unlock, err := lock.Write().Lock(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = unlock() }()
		_ = work(ctx)
	}
	return work(ctx) // want `ctx is older than the hold: the ctx that Lock returned shadows it in an inner block only`
}

func nested(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	inner, again, err := lock.Lock(ctx) // want `ctx is older than the hold: use held`
	if err != nil {
		return errors.Join(err, unlock())
	}
	return errors.Join(work(held), work(inner), again(), unlock())
}

func derived(ctx context.Context, lock *rlock.Lock) (err error) {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	held, unlock, err := lock.Lock(short)
	switch {
	case errors.Is(err, rlock.ErrBusy):
		return work(ctx)
	case err != nil:
		return work(short)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	_ = work(short) // want `short is older than the hold`
	_ = work(ctx)   // want `ctx is older than the hold`
	return work(held)
}

func handler(lock *rlock.Lock) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		held, unlock, err := lock.Lock(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer func() { _ = unlock() }()
		_ = work(held)
		_ = work(r.Context()) // want `r.Context\(\) is older than the hold: use held`
	}
}

func initialised(ctx context.Context, lock *rlock.Lock) error {
	if held, unlock, err := lock.TryLock(ctx); err == nil {
		_ = work(ctx) // want `ctx is older than the hold: use held`
		return errors.Join(work(held), unlock())
	}
	return work(ctx)
}

func permit(ctx context.Context, s *semaphore.Semaphore) error {
	_, release, err := s.Acquire(ctx, 2)
	if err != nil {
		return err
	}
	_ = work(ctx) // want `the context that Acquire returned is thrown away`
	return release()
}

func closures(ctx context.Context, lock *rlock.Lock, s *semaphore.Semaphore, r *http.Request) {
	_ = lock.Do(ctx, func(held context.Context) error {
		return work(ctx, held) // want `ctx is older than the hold of this Do: use the context that the function is given`
	})
	_ = lock.Do(ctx, func(context.Context) error {
		return work(ctx) // want `ctx is older than the hold of this Do`
	})
	_ = s.Do(r.Context(), 1, func(held context.Context) error {
		return work(r.Context(), held) // want `r.Context\(\) is older than the hold of this Do`
	})
	_ = lock.Do(context.WithoutCancel(ctx), func(held context.Context) error {
		return work(held, work(ctx)) // want `ctx is older than the hold of this Do`
	})
}

// locker is an application's own interface, which rlock's locks meet.
type locker interface {
	Lock(ctx context.Context) (context.Context, func() error, error)
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

func own(ctx context.Context, l locker) error {
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	_ = work(ctx) // want `ctx is older than the hold`
	_ = l.Do(held, func(context.Context) error {
		return work(held) // want `held is older than the hold of this Do`
	})
	return unlock()
}
