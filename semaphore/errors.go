package semaphore

import (
	"fmt"

	"github.com/holdfast-go/holdfast/rlock"
)

// ErrNoCapacity says that there are no permits because no capacity was set: call SetCapacity. Redis may also have
// lost it with its data. It matches rlock.ErrBusy as well, because another process may be about to set one.
var ErrNoCapacity error = noCapacity{}

type noCapacity struct{}

func (noCapacity) Error() string {
	return "semaphore: no capacity was set, so there are no permits: call SetCapacity"
}

func (noCapacity) Unwrap() error { return rlock.ErrBusy }

// CapacityError says that the capacity was lowered below what a waiting call asks for, which would otherwise wait for
// ever. A call that asks for more than the capacity from the start gets an *rlock.ArgumentError.
type CapacityError struct {
	Name     string // of the semaphore
	N        int64  // how many permits the call asks for
	Capacity int64  // the capacity now
}

func (e *CapacityError) Error() string {
	return fmt.Sprintf("semaphore: %q has a capacity of %d now, and %d permits were waited for",
		e.Name, e.Capacity, e.N)
}
