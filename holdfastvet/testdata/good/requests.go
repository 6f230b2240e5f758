package good

import (
	"context"
	"errors"
	"log"
	"net/http"

	"github.com/holdfast-go/holdfast/rlock"
)

// The request has the hold's context from here on.
func middleware(lock *rlock.Lock, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		held, unlock, err := lock.Lock(r.Context())
		if err != nil {
			http.Error(w, "busy", http.StatusLocked)
			return
		}
		defer func() {
			if err := unlock(); err != nil {
				log.Print(err)
			}
		}()
		r = r.WithContext(held)
		_ = work(r.Context())
		next.ServeHTTP(w, r)
	}
}

func middlewareOfDo(lock *rlock.Lock, w http.ResponseWriter, r *http.Request, next http.Handler) error {
	err := lock.Do(r.Context(), func(ctx context.Context) error {
		r := r.WithContext(ctx)
		next.ServeHTTP(w, r)
		return work(r.Context())
	})
	return errors.Join(err, work(r.Context()), lock.Do(r.Context(), func(ctx context.Context) error {
		r = r.WithContext(context.WithValue(ctx, "key", 1))
		next.ServeHTTP(w, r)
		return work(r.Context())
	}))
}

func cloned(lock *rlock.Lock, w http.ResponseWriter, r *http.Request, next http.HandlerFunc) error {
	return lock.Do(r.Context(), func(ctx context.Context) error {
		inner := r.Clone(ctx)
		next(w, inner)
		http.NotFound(w, r)
		r = inner
		return work(r.Context(), r.FormValue("id"))
	})
}

func replaced(lock *rlock.Lock, w http.ResponseWriter, r *http.Request, next http.Handler) error {
	return lock.Do(r.Context(), func(ctx context.Context) error {
		*r = *r.WithContext(ctx)
		next.ServeHTTP(w, r)
		return nil
	})
}

// frame is the context of a web framework, which keeps the request.
type frame struct {
	context.Context
	Request *http.Request
}

func (f *frame) SetRequest(r *http.Request) { f.Request = r }
func (f *frame) Next() error                { return work(f.Request.Context()) }

func framework(lock *rlock.Lock, f *frame) error {
	held, unlock, err := lock.Lock(f.Request.Context())
	if err != nil {
		return err
	}
	f.Request = f.Request.WithContext(held)
	err = errors.Join(work(f.Request.Context()), f.Next())
	return errors.Join(err, unlock())
}

func frameworkWithASetter(lock *rlock.Lock, next func(*frame) error) func(*frame) error {
	return func(f *frame) error {
		return lock.Do(f, func(ctx context.Context) error {
			f.SetRequest(f.Request.WithContext(ctx))
			return next(f)
		})
	}
}
