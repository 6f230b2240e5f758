// Package vocabulary gives an engine the vocabulary of package lock: its errors and its Observer. The clients of every
// store use it.
package vocabulary

import (
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/lock"
)

// Errors are the errors of package lock.
var Errors = engine.Errors{
	Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Released: lock.ErrReleased, Closed: lock.ErrClosed,
	Unavailable: lock.ErrUnavailable, KeyConflict: lock.ErrKeyConflict,
	Denied: denial{},
	Lost: func(name string, reason hold.Reason, cause error) error {
		return &lock.LostError{Name: name, Reason: lock.LossReason(reason), Err: cause}
	},
}

// denial is ErrUnavailable with the text of a server that answers but refuses the client.
type denial struct{}

func (denial) Error() string { return "rlock: redis denies access" }
func (denial) Unwrap() error { return lock.ErrUnavailable }

// Events has an observer told; nil is none.
func Events(o *lock.Observer) engine.Events {
	if o == nil {
		return engine.Events{}
	}
	events := engine.Events{
		Waiting: o.Waiting, Acquired: o.Acquired, Renewed: o.Renewed, Released: o.Released,
	}
	if lost := o.Lost; lost != nil {
		events.Lost = func(err error) { lost(err.(*lock.LostError)) }
	}
	return events
}
