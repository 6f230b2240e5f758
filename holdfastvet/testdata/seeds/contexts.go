package seeds

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

func outerContext(ctx context.Context, lock *rlock.Lock) (err error) {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock(), held.Err()) }()
	return work(ctx) // want `ctx is older than the hold: use held, which Lock returned`
}

func outerContextInDo(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		return errors.Join(held.Err(), work(ctx)) // want `ctx is older than the hold of this Do`
	})
}

func contextThrownAway(ctx context.Context, lock *rlock.Lock) (err error) {
	_, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return work(ctx) // want `the context that Lock returned is thrown away`
}

func outerContextInATransaction(ctx context.Context, lock *rlock.Lock, db store) error {
	return lock.Do(ctx, func(held context.Context) error {
		return db.InTx(held, func() error {
			return work(ctx) // want `ctx is older than the hold of this Do`
		})
	})
}

func outerContextInATerm(ctx context.Context, e *leader.Election) (err error) {
	term, resign, err := e.Campaign(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resign()) }()
	for term.Err() == nil {
		if err := work(ctx); err != nil { // want `ctx is older than the hold: use term, which Campaign returned`
			return err
		}
	}
	return nil
}

func outerContextInRun(ctx context.Context, e *leader.Election) error {
	return e.Run(ctx, func(term context.Context) error {
		return work(ctx, term.Err()) // want `ctx is older than the hold of this Run`
	})
}

func requestsContext(lock *rlock.Lock, w http.ResponseWriter, r *http.Request) error {
	return lock.Do(r.Context(), func(context.Context) error {
		return work(r.Context(), w) // want `r.Context\(\) is older than the hold of this Do`
	})
}

func olderRequestInDo(lock *rlock.Lock, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = lock.Do(r.Context(), func(context.Context) error {
			next.ServeHTTP(w, r) // want `r has a context that is older than the hold: hand on a request with the context that the`
			return nil
		})
	}
}

func olderRequestByHand(lock *rlock.Lock, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		ctx, unlock, err := lock.Lock(ctx)
		if err != nil {
			http.Error(w, "busy", http.StatusLocked)
			return
		}
		defer func() { _ = errors.Join(ctx.Err(), unlock()) }()
		next(w, r) // want `r has a context that is older than the hold: hand on a request with the context that Lock returned`
	}
}

func timeoutOfTheOuter(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return work(short, held.Err()) // want `short is older than the hold of this Do`
	})
}

func waitsForTheOuter(ctx context.Context, lock *rlock.Lock, tick *time.Ticker) error {
	return lock.Do(ctx, func(held context.Context) error {
		for {
			select {
			case <-ctx.Done(): // want `ctx is older than the hold of this Do`
				return ctx.Err()
			case <-tick.C:
				_ = work(held)
			}
		}
	})
}

func holdsUntilTheOuterEnds(ctx context.Context, lock *rlock.Lock) error {
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	err = work(held)
	<-ctx.Done() // want `ctx is older than the hold: use held`
	return errors.Join(err, unlock())
}

func takenAgainFromNowhere(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(context.Context) error {
		return lock.Do(context.Background(), work0) // want `this Do does not know that the lock is held, and waits for its own caller`
	})
}

func usedAfterUnlock(ctx context.Context, lock *rlock.Lock) error {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(work(ctx), unlock()); err != nil {
		return err
	}
	return work(ctx) // want `ctx has ended: unlock ended the hold`
}

func cutOffByUnlock(ctx context.Context, lock *rlock.Lock) error {
	return lock.Do(ctx, func(held context.Context) error {
		go func() { _ = work(held) }() // want `nothing waits for this goroutine, and held ends with the hold`
		return nil
	})
}
