package semaphore

import (
	settings "github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/rlock"
)

// WaitForCapacity makes Acquire of a [Semaphore] wait while the capacity is smaller than what it asks for, as Redisson
// does: until a caller sets a greater one. Without this option such a call returns an error at once, because it may
// wait forever. With it TryAcquire is refused, and a wait that ends returns an error that matches both rlock.ErrBusy
// and [CapacityError]. Meanwhile refused callers behind it in this process wait too, as behind any large request.
func WaitForCapacity() rlock.Option {
	return func(o *settings.Options) { o.Patient = true }
}
