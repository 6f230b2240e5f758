package certmagiclock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-go/holdfast/lock"
)

// Storage is a certmagic.Storage with the locks of this module. All methods are safe for concurrent use if those of
// the storage inside are.
type Storage struct {
	certmagic.Storage // everything but the locks
	open              func(name string) *lock.Lock

	mu    sync.Mutex // guards holds, and the fields of each
	holds map[string]*hold
}

var (
	_ certmagic.Storage          = (*Storage)(nil)
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// hold is what Lock or TryLock got and Unlock has not ended yet: live or lost.
type hold struct {
	lock     *lock.Lock
	held     context.Context // of the hold; carries it even when it has ended
	unlock   func() error
	reported bool          // RenewLockLease has returned the loss
	ended    chan struct{} // closed by Unlock
}

// New returns a storage that locks with the handles that open returns for certmagic's names, and does everything
// else with storage. A handle can have any kind and any option: [lock.MaxHold] bounds how long a stuck process keeps
// others from a certificate.
func New(storage certmagic.Storage, open func(name string) *lock.Lock) *Storage {
	return &Storage{Storage: storage, open: open, holds: make(map[string]*hold)}
}

// Lock waits until the lock of name is held, or ctx ends.
func (s *Storage) Lock(ctx context.Context, name string) error {
	for {
		handle := s.open(name)
		held, unlock, err := handle.Lock(lock.WithoutHolds(ctx))
		if err != nil {
			return err
		}
		lost := s.keep(name, &hold{lock: handle, held: held, unlock: unlock, ended: make(chan struct{})})
		if lost == nil {
			return nil
		}
		// Other processes need not wait for the Unlock that this one waits for.
		if err := unlock(); err != nil {
			return err
		}
		select {
		case <-lost.ended:
		case <-ctx.Done():
			return fmt.Errorf("%w: a lost hold of %q is not unlocked yet in this process: %w",
				lock.ErrBusy, name, context.Cause(ctx))
		}
	}
}

// TryLock makes one attempt and does not wait. It reports false if the lock is busy.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	handle := s.open(name)
	held, unlock, err := handle.TryLock(lock.WithoutHolds(ctx))
	switch {
	case errors.Is(err, lock.ErrBusy):
		return false, nil
	case err != nil:
		return false, err
	}
	if s.keep(name, &hold{lock: handle, held: held, unlock: unlock, ended: make(chan struct{})}) == nil {
		return true, nil
	}
	return false, unlock()
}

// keep lists h as the hold of its name. If this process has another one, which can only be lost, because h excludes
// it, keep returns that one and lists nothing.
func (s *Storage) keep(name string, h *hold) (lost *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lost = s.holds[name]; lost == nil {
		s.holds[name] = h
	}
	return lost
}

// Unlock ends the hold of name. It returns the *lock.LostError if the hold was lost, a *lock.ReleaseError if the store
// has not confirmed the release, which goes on in the background, and lock.ErrNotHeld if this process has no hold of
// the name. It works after ctx has ended.
func (s *Storage) Unlock(_ context.Context, name string) error {
	s.mu.Lock()
	h := s.holds[name]
	if h == nil {
		s.mu.Unlock()
		return notHeld(name)
	}
	delete(s.holds, name)
	unlock := h.unlock
	s.mu.Unlock()

	// A waiter that is woken before the release waits for it in the queue of its client.
	close(h.ended)
	return unlock()
}

// RenewLockLease says whether the lock of name is still held; the lease, which it does not need, is renewed anyway.
// certmagic calls it before each attempt. After a loss it returns the *lock.LostError once, and from then on tries
// to take the lock again: without that, an attempt could never succeed again, and certmagic makes attempts for 30
// days.
func (s *Storage) RenewLockLease(ctx context.Context, name string, _ time.Duration) error {
	h, err := s.check(name)
	if h == nil {
		return err
	}
	held, unlock, err := h.lock.TryLock(lock.WithoutHolds(ctx))
	if err != nil {
		return err
	}
	lost, ok := s.replace(name, h, held, unlock)
	if !ok {
		return errors.Join(notHeld(name), unlock())
	}
	_ = lost() // the loss, which is known
	return nil
}

// check returns nothing if name is held, the hold if the lock has to be taken again, otherwise what RenewLockLease
// returns.
func (s *Storage) check(name string) (again *hold, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.holds[name]
	if h == nil {
		return nil, notHeld(name)
	}
	_, err = h.lock.Held(h.held) // sends nothing
	switch {
	case err == nil:
		return nil, nil
	case h.reported:
		return h, nil
	}
	h.reported = true
	return nil, err
}

// replace makes what TryLock got the hold of name, and returns the unlock of the hold before. It reports false if
// Unlock came first.
func (s *Storage) replace(
	name string, h *hold, held context.Context, unlock func() error,
) (before func() error, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[name] != h {
		return nil, false
	}
	before = h.unlock
	h.held, h.unlock, h.reported = held, unlock, false
	return before, true
}

func notHeld(name string) error {
	return fmt.Errorf("%w: this process has no hold of %q", lock.ErrNotHeld, name)
}
