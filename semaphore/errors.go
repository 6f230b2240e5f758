package semaphore

import (
	"fmt"

	"github.com/holdfast-go/holdfast/rlock"
)

// noun is what errors call a semaphore of either kind.
const noun = "semaphore"

// errTaken is what a caller is told of permits that others hold.
const errTaken = busyError("holdfast: the semaphore has too few free permits")

// busyError is rlock.ErrBusy in words of its own.
type busyError string

func (e busyError) Error() string { return string(e) }
func (busyError) Unwrap() error   { return rlock.ErrBusy }

// ErrNoCapacity says that there are no permits because no capacity was set: call SetCapacity. Redis may also have
// lost it with its data. It matches rlock.ErrBusy as well, because another process may be about to set one.
var ErrNoCapacity error = noCapacity{}

type noCapacity struct{}

func (noCapacity) Error() string {
	return "holdfast: the semaphore has no capacity: call SetCapacity"
}

func (noCapacity) Unwrap() error { return rlock.ErrBusy }

// CapacityError says that the capacity was lowered below what a waiting call asks for, which would otherwise wait for
// ever. A call that asks for more than the capacity from the start gets an *rlock.ArgumentError. With [WaitForCapacity]
// both wait, and the error of a wait that ended matches this one and rlock.ErrBusy.
type CapacityError struct {
	Name     string // of the semaphore
	N        int64  // how many permits the call asks for
	Capacity int64  // the capacity now
}

func (e *CapacityError) Error() string {
	return fmt.Sprintf("holdfast: semaphore %q: cannot acquire %d permits: the capacity was lowered to %d",
		e.Name, e.N, e.Capacity)
}

// shortError is what a call with WaitForCapacity is told.
type shortError struct{ CapacityError }

func (e *shortError) Error() string {
	return fmt.Sprintf("holdfast: the semaphore has a capacity of %d and is asked for %d", e.Capacity, e.N)
}

func (e *shortError) Unwrap() []error { return []error{rlock.ErrBusy, &e.CapacityError} }
