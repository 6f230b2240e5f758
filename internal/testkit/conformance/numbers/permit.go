package numbers

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// PermitLacks is what a permit cannot do that a lock can.
const PermitLacks = conformance.Reentry | conformance.Fencing | conformance.Knowledge | conformance.Moves |
	conformance.MinHolds | conformance.Sets | conformance.Notes | conformance.Erasure | conformance.Keeping

// Permit is one permit of a semaphore as a lock.
type Permit struct{ *semaphore.Semaphore }

// Lock acquires it.
func (p Permit) Lock(ctx context.Context) (context.Context, func() error, error) {
	return p.Acquire(ctx, 1)
}

// TryLock tries to acquire it.
func (p Permit) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return p.TryAcquire(ctx, 1)
}

// Do calls fn with it.
func (p Permit) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	return p.Semaphore.Do(ctx, 1, fn)
}

// Held knows no more than the context does: permits are not looked up.
func (p Permit) Held(ctx context.Context) (rlock.Hold, error) {
	if cause := context.Cause(ctx); cause != nil {
		return rlock.Hold{}, cause
	}
	return rlock.Hold{}, rlock.ErrNotHeld
}
