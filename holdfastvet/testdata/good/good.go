// Package good uses locks as they are to be used. Nothing is found in it.
package good

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func work(context.Context, ...any) error { return nil }

func byHand(ctx context.Context, lock *rlock.Lock) (err error) {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work(ctx)
}

func do(ctx context.Context, lock *rlock.Lock) error {
	err := lock.Do(ctx, func(ctx context.Context) error { return work(ctx) })
	return errors.Join(err, work(ctx))
}

// The outer context is for what comes before the hold, after it, beside it, or outlives it.
func outer(ctx context.Context, lock *rlock.Lock) error {
	if err := work(ctx); err != nil {
		return err
	}
	held, unlock, err := lock.Lock(ctx)
	if errors.Is(err, rlock.ErrBusy) {
		return work(ctx)
	}
	if err != nil {
		log.Print(work(ctx))
		return err
	}
	go func() { _ = work(ctx) }()
	defer func() { _ = work(ctx) }()
	slog.InfoContext(ctx, "held")
	if _, err := lock.Inspect(ctx); err != nil {
		return errors.Join(err, unlock())
	}
	free := rlock.WithoutHolds(held)
	longer, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := work(held, free.Err(), longer.Err()); err != nil {
		return errors.Join(err, unlock())
	}
	err = unlock()
	return errors.Join(err, work(ctx))
}

func branches(ctx context.Context, lock *rlock.Lock, locks bool) error {
	if locks {
		held, unlock, err := lock.TryLock(ctx)
		if err != nil {
			return work(ctx)
		}
		defer func() {
			if err := unlock(); err != nil {
				log.Print(err)
			}
		}()
		return work(held)
	} else {
		_ = work(ctx)
	}
	return work(ctx)
}

func withOrWithout(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.TryLock(ctx)
	if err == nil {
		err = errors.Join(work(held), unlock())
	}
	_ = work(ctx)
	if held, unlock, err := lock.TryLock(ctx); err != nil {
		_ = work(ctx)
	} else {
		_ = work(held, unlock())
	}
	return errors.Join(err, work(ctx))
}

// reassigned has one variable for both.
func reassigned(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	ctx = held
	err = work(ctx)
	return errors.Join(err, unlock())
}

// anyway works whether or not it has the lock.
func anyway(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.TryLock(ctx)
	if err != nil {
		log.Print(err)
	}
	_ = work(ctx)
	if err == nil {
		err = errors.Join(work(held), unlock())
	}
	return err
}

// hold is what somebody else unlocks.
type hold struct {
	ctx    context.Context
	unlock func() error
}

func kept(ctx context.Context, lock *rlock.Lock) (hold, error) {
	held, unlock, err := lock.Lock(ctx)
	made := hold{held, unlock}
	return made, err
}

// handedOn leaves everything to the caller.
func handedOn(ctx context.Context, lock *rlock.Lock) (context.Context, func() error, error) {
	ctx, unlock, err := lock.Lock(ctx)
	return ctx, unlock, err
}

func expected(ctx context.Context, lock *rlock.Lock) bool {
	_, _, err := lock.TryLock(ctx)
	_ = work(ctx)
	return errors.Is(err, rlock.ErrBusy)
}

func logged(ctx context.Context, lock *multilock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	var lost error
	defer func() {
		lost = unlock()
		log.Print(lost)
	}()
	return work(ctx)
}

func captured(ctx context.Context, s *semaphore.Semaphore) (lost error) {
	err := func() error {
		ctx, release, err := s.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		defer func() { lost = release() }()
		return work(ctx)
	}()
	return errors.Join(err, lost)
}

func handler(lock *rlock.Lock) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := lock.Do(r.Context(), func(ctx context.Context) error { return work(ctx, r.WithContext(ctx).Context()) })
		slog.ErrorContext(r.Context(), "done", "error", err)
	}
}

// retrier is no lock, though it has a method of the same shape.
type retrier struct{}

func (retrier) Do(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }

func retry(ctx context.Context, r retrier) error {
	return r.Do(ctx, func(context.Context) error { return work(ctx) })
}
