package semaphore

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Semaphore is a handle on a named semaphore whose permits have owners and leases. The handle itself holds nothing:
// the context that Acquire returns does. All methods are safe for concurrent use, and handles of one client with the
// same name are the same semaphore.
type Semaphore struct {
	handle
	one *rlock.Lock // that of a single permit, which most callers want
}

// New returns a handle on the semaphore of that name. It is cheap and sends nothing. With an invalid name or option
// every call on the handle returns an *rlock.ArgumentError. A name that is only a hash tag, such as "{x}", is invalid
// too: Redisson keeps its leases where it keeps those of "x", so the permits of each would count for the other. Other
// names with hash tags, such as "{x}:jobs", are fine.
func New(client *rlock.Client, name string, opts ...rlock.Option) *Semaphore {
	h := newHandle(client, name, opts)
	if h.err == nil {
		h.err = checkSpelling(h.key)
	}
	s := &Semaphore{handle: h}
	if h.err == nil {
		s.one = h.client.LockAnew(s.permits(1), opts, nil)
	}
	return s
}

// Name is the name given to New.
func (s *Semaphore) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Delete removes the semaphore and its capacity, for a name that is no longer in use: Redis keeps it for ever
// otherwise. If permits are held, the error is rlock.ErrBusy and nothing changes: if a capacity were set again while
// a holder still has old permits, more would be held than it allows. After Delete, Acquire waits for a capacity, as
// before the first SetCapacity, unless its handle has one ([Capacity]). If the semaphore does not exist, Delete does
// nothing.
func (s *Semaphore) Delete(ctx context.Context) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	reply, err := s.change(ctx, store.Change{Verb: store.Delete})
	if err == nil && reply.Status == luacall.Busy {
		return busyError(fmt.Sprintf("holdfast: cannot delete semaphore %q: %d permits are held", s.name, reply.Value))
	}
	return err
}

// Acquire waits until n permits are free at once, takes them as one hold, and returns it as a context.
//
// It works like rlock.Lock.Lock, with one difference: permits are never re-entered. Every Acquire takes n more,
// whatever ctx carries; calling Acquire while holding permits can deadlock. Inside this process refused callers are
// served first in, first out, so small requests do not starve a large one; other processes are not bound by that
// order.
//
// The returned context ends when the permits are lost, before Redis can give them to anybody else, and with
// rlock.ErrReleased after release. Release gives them back, once. After a loss it returns the *rlock.LostError, on a
// second call rlock.ErrNotHeld; neither changes anything. If Redis has not confirmed it, it returns a
// *rlock.ReleaseError, as the unlock of a lock does.
//
// N is from 1 to 10,000. If n exceeds the capacity, the error is an *rlock.ArgumentError once Redis has reported the
// capacity; if the capacity fell below n while the call waited, it is a *[CapacityError]. On error Acquire returns
// the context that it was given, and release returns rlock.ErrNotHeld.
func (s *Semaphore) Acquire(
	ctx context.Context, n int64,
) (held context.Context, release func() error, err error) {
	return s.lock(n).Lock(ctx)
}

// TryAcquire makes one attempt and does not wait. If fewer than n permits are free, or a caller in this process waits
// for some, the error is rlock.ErrBusy. If no capacity was set it is [ErrNoCapacity], which also matches
// rlock.ErrBusy. Otherwise TryAcquire is like Acquire.
func (s *Semaphore) TryAcquire(
	ctx context.Context, n int64,
) (held context.Context, release func() error, err error) {
	return s.lock(n).TryLock(ctx)
}

// Do calls fn with n permits held, and passes it the context that carries them. They are released when fn returns or
// panics. The error is a *rlock.WorkError if fn was called, and otherwise Acquire's.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context) error) error {
	return s.lock(n).Do(ctx, fn)
}

// Inspect asks Redis who holds permits, in one round trip. For each hold it reports the id, the number of permits
// (Count) and the rest of the lease; for Redisson's, the id of each permit. Expired leases are not listed. Of more
// than 10,000 permits it shows those whose leases end first.
func (s *Semaphore) Inspect(ctx context.Context) (rlock.Info, error) {
	return s.lock(1).Inspect(ctx)
}

// Break takes the permits of one hold from its holder, in this process or another, and wakes waiters. It is meant for
// operators. The id is one that Inspect reported. If there is no such hold, or its lease has ended, the error is
// rlock.ErrNotHeld and nothing changes.
func (s *Semaphore) Break(ctx context.Context, id string) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	if _, err := hex.DecodeString(id); id == "" || err != nil && !ours(id) {
		return &rlock.ArgumentError{
			Name: "id", Value: id, Problem: "must be the id of a holder that Inspect told",
		}
	}
	return s.core.Engine.BreakOne(ctx, s.core.Store.Bind(s.permits(0)), id)
}

func (s *Semaphore) permits(n int64) *permits {
	return &permits{
		handle: s.handle, count: n, patient: s.own.Patient, traits: store.Traits{
			Layout: store.Permits, Kind: string(lock.KindSemaphore), Noun: noun, Busy: errTaken, Unset: ErrNoCapacity,
			SeveralAsk: true, Passes: true, Portion: n, Permits: n,
		},
		keys: luacall.Permits{
			Free: s.key, Leases: s.leases(), Channel: s.channel(), Unused: s.own.Unused.Milliseconds(),
			Capacity: s.own.Capacity,
		},
	}
}

// change has the store carry out a change, which counts once.
func (s *Semaphore) change(ctx context.Context, what store.Change) (store.ChangeReply, error) {
	return s.core.Engine.Change(ctx, s.core.Store.Bind(s.permits(0)), what)
}

// lock returns the lock that stands for n permits.
func (s *Semaphore) lock(n int64) *rlock.Lock {
	switch {
	case s == nil:
		return nil // whose calls say so
	case n == 1 && s.one != nil:
		return s.one
	}
	err := s.check(s)
	if err == nil {
		err = checkNumber(n, 1, luacall.MaxPermits)
	}
	return s.client.LockAnew(s.permits(n), s.opts, err)
}
