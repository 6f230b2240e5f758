package gooselock

import (
	"context"
	"database/sql"
	"errors"

	gooses "github.com/pressly/goose/v3/lock"

	"github.com/holdfast-go/holdfast/lock"
)

// Locker is what goose.WithLocker takes. All methods are safe for concurrent use.
type Locker struct {
	lock lock.Locker
	// unlock has the unlock function of the hold of the caller that is between Lock and Unlock. There is room for one.
	unlock chan func() error
}

var _ gooses.Locker = (*Locker)(nil)

// New returns a Locker that takes l, which is a lock of any kind and with any option of this module.
func New(l lock.Locker) *Locker { return &Locker{lock: l, unlock: make(chan func() error, 1)} }

// Lock waits until the lock is held, or ctx ends, or MaxWait of the lock elapses. The database is not used. If ctx
// carries a hold of the lock, Lock re-enters.
func (l *Locker) Lock(ctx context.Context, _ *sql.DB) error {
	held, unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return err
	}
	select {
	case l.unlock <- unlock:
		return nil
	case <-held.Done():
		// Another provider has lost the lock and still migrates; meanwhile ctx has ended, or the lock was lost again.
		return errors.Join(context.Cause(held), unlock())
	}
}

// Unlock ends the hold. It returns the *lock.LostError if the hold was lost before, a *lock.ReleaseError if the store
// has not confirmed the release, which goes on in the background, and lock.ErrNotHeld without a Lock. It works after
// ctx has ended.
func (l *Locker) Unlock(context.Context, *sql.DB) error {
	select {
	case unlock := <-l.unlock:
		return unlock()
	default:
		return lock.ErrNotHeld
	}
}
