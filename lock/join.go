package lock

import (
	"context"
	"time"
)

// JoinObservers returns an Observer that calls the functions of all the given ones, in their order. A nil Observer
// adds nothing. The contexts that Begin and Held return are passed from each to the next, so that the last one's is a
// child of all of them. If one panics, those after it are not called for that event.
func JoinObservers(observers ...*Observer) *Observer {
	joined := new(Observer)
	for _, o := range observers {
		if o != nil {
			joined = both(joined, o)
		}
	}
	return joined
}

func both(a, b *Observer) *Observer {
	return &Observer{
		Begin:   derived(a.Begin, b.Begin),
		End:     finished(a.End, b.End),
		Held:    derived(a.Held, b.Held),
		Ended:   finished(a.Ended, b.Ended),
		Command: one(a.Command, b.Command),
		Renewed: one(a.Renewed, b.Renewed),
		Lost:    one(a.Lost, b.Lost),
	}
}

type (
	begins = func(context.Context, Call) context.Context
	ends   = func(context.Context, Call, time.Duration, error)
)

func derived(a, b begins) begins {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, call Call) context.Context {
		for _, begin := range []begins{a, b} {
			if next := begin(ctx, call); next != nil {
				ctx = next
			}
		}
		return ctx
	}
}

func finished(a, b ends) ends {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, call Call, took time.Duration, err error) {
		a(ctx, call, took, err)
		b(ctx, call, took, err)
	}
}

func one[T any](a, b func(T)) func(T) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(t T) { a(t); b(t) }
}

func either[F any](a, b F, second bool) F {
	if second {
		return b
	}
	return a
}
