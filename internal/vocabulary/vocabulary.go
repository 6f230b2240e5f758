// Package vocabulary gives an engine the vocabulary of package lock: its errors and its Observer. The clients of every
// store use it.
package vocabulary

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// Errors are the errors of package lock, for a client of the store with that name.
func Errors(of string) engine.Errors {
	return engine.Errors{
		Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Unconfirmed: lock.ErrUnconfirmed, Released: lock.ErrReleased,
		Closed:      lock.ErrClosed,
		Unavailable: lock.ErrUnavailable, KeyConflict: lock.ErrKeyConflict, Exported: lock.ErrExported,
		Silent: unavailable("holdfast: " + of + " is unavailable"),
		Denied: unavailable("holdfast: " + of + " denies access"),
		Locked: unavailable("holdfast: a transaction has locked the row of the lock, or its table"),
		Barred: func(of store.Rules, by []store.Transaction) error {
			e := &lock.TransactionError{Name: of.Name(), Kind: lock.Kind(of.Traits().Kind)}
			for _, one := range by {
				e.Transactions = append(e.Transactions, lock.Transaction(one))
			}
			return e
		},
		Lost: func(of store.Rules, reason hold.Reason, cause error) error {
			return &lock.LostError{
				Name: of.Name(), Kind: lock.Kind(of.Traits().Kind), Reason: lock.LossReason(reason), Err: cause,
			}
		},
		Reentry: func(of store.Rules, place string) error {
			return &lock.ReentryError{Name: of.Name(), Kind: lock.Kind(of.Traits().Kind), Place: place}
		},
		Release: func(of store.Rules, until time.Time, cause error) error {
			return &lock.ReleaseError{Name: of.Name(), Kind: lock.Kind(of.Traits().Kind), Until: until, Err: cause}
		},
	}
}

// unavailable is ErrUnavailable with a text that names the store.
type unavailable string

func (u unavailable) Error() string { return string(u) }
func (unavailable) Unwrap() error   { return lock.ErrUnavailable }

// OnlyUnconfirmed reports that all an error says is that releases are unconfirmed: the work was done. It is false of
// one that is joined with an error of the work, or with the loss of another lock.
func OnlyUnconfirmed(err error) bool {
	switch e := err.(type) {
	case *lock.ReleaseError:
		return true
	case *lock.WorkError:
		return (e.Err == nil || OnlyUnconfirmed(e.Err)) && (e.Hold == nil || OnlyUnconfirmed(e.Hold))
	case interface{ Unwrap() error }:
		return OnlyUnconfirmed(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !OnlyUnconfirmed(one) {
				return false
			}
		}
		return len(e.Unwrap()) > 0
	}
	return err == lock.ErrUnconfirmed
}

// Events has an observer told what happens on a store; nil is none.
func Events(o *lock.Observer, of lock.Store) engine.Events {
	if o == nil {
		return engine.Events{}
	}
	var events engine.Events
	if renewed := o.Renewed; renewed != nil {
		events.Renewed = func(what store.Rules, err error) {
			renewed(lock.Renewal{Store: of, Name: what.Name(), Kind: lock.Kind(what.Traits().Kind), Err: err})
		}
	}
	if lost := o.Lost; lost != nil {
		events.Lost = func(err error) { lost(err.(*lock.LostError)) }
	}
	if command := o.Command; command != nil {
		events.Command = func(c store.Command) {
			command(lock.Command{Store: of, Script: c.Script, Calls: c.Calls, Took: c.Took, Err: c.Err})
		}
	}
	events.Begin, events.Held = deriving(o.Begin, of), deriving(o.Held, of)
	events.End, events.Ended = ending(o.End, of), ending(o.Ended, of)
	return events
}

func deriving(
	derive func(context.Context, lock.Call) context.Context, of lock.Store,
) func(context.Context, engine.Call) context.Context {
	if derive == nil {
		return nil
	}
	return func(ctx context.Context, call engine.Call) context.Context { return derive(ctx, callOn(of, call)) }
}

func ending(
	end func(context.Context, lock.Call, time.Duration, error), of lock.Store,
) func(context.Context, engine.Call, time.Duration, error) {
	if end == nil {
		return nil
	}
	return func(ctx context.Context, call engine.Call, took time.Duration, err error) {
		end(ctx, callOn(of, call), took, err)
	}
}

func callOn(of lock.Store, c engine.Call) lock.Call {
	return lock.Call{
		Store: of, Name: c.Name, Kind: lock.Kind(c.Kind), Permits: c.Permits, Try: c.Try,
		HoldID: c.HoldID, Fence: c.Fence,
	}
}
