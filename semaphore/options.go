package semaphore

import (
	"fmt"

	settings "github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/rlock"
)

// Capacity has a handle of a [Semaphore] know how many permits there are in all, 1 or more. Where no capacity is set,
// its Acquire and TryAcquire set that one as they take permits, and its Available and Capacity set it before they look.
// So the semaphore goes on after Redis lost its data, after [ExpireUnused] and after [Semaphore.Delete], and nobody has
// to call [Semaphore.SetCapacityIfAbsent] at the start. A capacity that is set stays as it is, whatever n is.
//
// Give all handles of a name the same n: after a loss of data, the first caller's counts. A holder of permits that
// Redis forgot learns that with their next renewal, and until then more than n may be held.
//
// A [Counting] semaphore cannot have this option: nobody knows how many of its permits are taken.
func Capacity(n int64) rlock.Option {
	return func(o *settings.Options) {
		switch {
		case o.Err != nil:
		case n < 1 || n > luacall.MaxCount:
			o.Err = &rlock.ArgumentError{
				Name: "Capacity", Value: n, Problem: fmt.Sprintf("must be between 1 and %d", int64(luacall.MaxCount)),
			}
		default:
			o.Capacity = n
		}
	}
}

// WaitForCapacity makes Acquire of a [Semaphore] wait while the capacity is smaller than what it asks for, as Redisson
// does: until a caller sets a greater one. Without this option such a call returns an error at once, because it may
// wait forever. With it TryAcquire is refused, and a wait that ends returns an error that matches both rlock.ErrBusy
// and [CapacityError]. Meanwhile refused callers behind it in this process wait too, as behind any large request.
func WaitForCapacity() rlock.Option {
	return func(o *settings.Options) { o.Patient = true }
}
