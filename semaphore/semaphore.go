package semaphore

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// Semaphore is a handle on a named semaphore whose permits have owners and leases. It holds nothing
// itself: the context that Acquire returns does. All methods are safe for concurrent use, and handles
// of one client with one name are the same semaphore.
type Semaphore struct{ handle }

// New returns a handle on the semaphore of that name. It is cheap and sends nothing. A bad name or
// option is an *rlock.ArgumentError from every call on the handle. So is a name that is a hash tag and
// nothing else, such as "{x}": Redisson keeps its leases where it keeps those of "x", so that the permits
// of either would count for the other. Other names with hash tags, "{x}:jobs", are fine.
func New(client *rlock.Client, name string, opts ...rlock.Option) *Semaphore {
	h := newHandle(client, name, opts)
	if h.err == nil {
		h.err = checkSpelling(h.key)
	}
	return &Semaphore{h}
}

// Name is the name given to New.
func (s *Semaphore) Name() string { return s.name }

// SetCapacity sets how many permits there are in all, from 0 up: the first time, or while permits are
// held. It is an absolute number, so every process may set it when it starts. If more are held than
// there are to be, nobody loses any, and nobody gets any until enough were given back.
//
// A capacity of 0 is a pause: nobody gets any permits, and Acquire waits for a greater one. A waiter for
// more permits than a capacity above 0 is told by a *[CapacityError], since it would wait for ever.
//
// Until a capacity was set there are no permits: Acquire waits, and TryAcquire is refused. If the wait
// ends without one, both return [ErrNoCapacity]. The same is so after Redis lost its data.
//
// The capacity stays until [Semaphore.Delete].
func (s *Semaphore) SetCapacity(ctx context.Context, n int64) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 0, lua.MaxCount); err != nil {
		return err
	}
	p := s.permits(0)
	at := s.core.Store.Bind(p)
	_, err := engine.Once(s.core.Engine, ctx, at, redisstore.Change(at, func(
		ctx context.Context, conn lua.Conn, ask store.Ask,
	) (store.Changed[struct{}], error) {
		r, err := lua.PermitCapacity(
			p.at(s.core.Store.Sharded()), n, s.remember(ask)).Run(ctx, conn)
		return store.Changed[struct{}]{Status: r.Status, Now: r.Now}, err
	}))
	return err
}

// Delete takes the semaphore away, with its capacity: for a name that nobody uses any more, since Redis
// keeps it for ever otherwise. If permits are held, the error is rlock.ErrBusy and nothing changes: with a
// capacity that is set again while somebody still has the old permits, more would be held than there are.
// Acquire then waits for a capacity, as before the first SetCapacity. If the semaphore is not there, Delete
// does nothing.
func (s *Semaphore) Delete(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	p := s.permits(0)
	at := s.core.Store.Bind(p)
	reply, err := engine.Once(s.core.Engine, ctx, at, redisstore.Change(at, func(
		ctx context.Context, conn lua.Conn, ask store.Ask,
	) (store.Changed[lua.CountReply], error) {
		r, err := lua.PermitDelete(p.at(s.core.Store.Sharded()), s.remember(ask)).Run(ctx, conn)
		return store.Changed[lua.CountReply]{Reply: r, Status: r.Status, Now: r.Now}, err
	}))
	if err == nil && reply.Status == lua.Busy {
		return fmt.Errorf("semaphore: %d permits of %q are held: %w", reply.Value, s.name, rlock.ErrBusy)
	}
	return err
}

// Acquire waits until n permits are free at once and takes them as one hold, which it returns as a
// context.
//
// It is what rlock.Lock.Lock is for a lock, with one difference: permits are never re-entered. Every
// Acquire takes n more, whatever ctx carries; who acquires while holding can wait for itself. Inside
// this process those who were refused get their turn first in, first out, so a large request is not starved
// by small ones; other processes are not held to that.
//
// The returned context ends when the permits are lost, before Redis can give them to anybody else; with
// rlock.ErrReleased after release. Release gives them back, once; after a loss it returns the
// *rlock.LostError, a second time rlock.ErrNotHeld, and either changes nothing.
//
// N is from 1 to 10,000. More than the capacity is an *rlock.ArgumentError as soon as Redis said how much
// that is; if the capacity fell below n while the call waited, a *[CapacityError]. On error the context is the one
// that was given, and release returns rlock.ErrNotHeld.
func (s *Semaphore) Acquire(
	ctx context.Context, n int64,
) (held context.Context, release func() error, err error) {
	return s.lock(n).Lock(ctx)
}

// TryAcquire makes one attempt and does not wait: if there are not n permits free, or somebody in this
// process waits for some, the error is rlock.ErrBusy. If no capacity was set it is [ErrNoCapacity], which
// matches rlock.ErrBusy too. In everything else it is like Acquire.
func (s *Semaphore) TryAcquire(
	ctx context.Context, n int64,
) (held context.Context, release func() error, err error) {
	return s.lock(n).TryLock(ctx)
}

// Do calls fn with n permits held, and with the context that carries them. They are released when fn
// returns or panics. The error is Acquire's, or fn's and release's in one.
func (s *Semaphore) Do(ctx context.Context, n int64, fn func(ctx context.Context) error) error {
	return s.lock(n).Do(ctx, fn)
}

// Inspect asks Redis who holds permits, in one round trip: of each hold its id, how many it has (Count)
// and what is left of its lease; of Redisson's the id of each permit. A lease that is over is not
// listed. Of more than 10,000 permits it shows those whose leases end first.
func (s *Semaphore) Inspect(ctx context.Context) (rlock.Info, error) {
	return s.lock(1).Inspect(ctx)
}

// Break takes the permits of one hold from whoever has it, in this process or another, and wakes who
// waits: for operators. The id is one that Inspect told. If there is no such hold, or its lease is
// over, the error is rlock.ErrNotHeld and nothing changes.
func (s *Semaphore) Break(ctx context.Context, id string) error {
	if err := s.check(ctx); err != nil {
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
	return &permits{handle: s.handle, count: n, traits: store.Traits{
		Crowds: true, Passes: true, Unscripted: true, Portion: n,
	}}
}

// lock is the lock that n permits are.
func (s *Semaphore) lock(n int64) *rlock.Lock {
	err := s.check(s)
	if err == nil {
		err = checkNumber(n, 1, lua.MaxPermits)
	}
	return s.client.LockAnew(s.permits(n), s.opts, err)
}
