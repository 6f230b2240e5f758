package semaphore

import (
	"context"

	"github.com/holdfast-go/holdfast/rlock"
)

// Held returns the live permits of this semaphore that ctx carries, and until when they are valid. It sends nothing. If
// ctx carries several, it is the last that were acquired. Count is 1, however many permits they are, and Fence 0.
// Without permits the error is rlock.ErrNotHeld; after a loss it is the *rlock.LostError.
func (s *Semaphore) Held(ctx context.Context) (rlock.Hold, error) { return s.lock(1).Held(ctx) }
