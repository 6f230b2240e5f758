package semaphore

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Available returns how many permits are free, those whose leases have ended included: 0 if none are, or if more are
// held than the capacity. If no capacity was set, the error is [ErrNoCapacity]. The number may have changed by the time
// it returns.
func (s *Semaphore) Available(ctx context.Context) (int64, error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	free, err := s.look(ctx, store.Look)
	return max(free, 0), err
}

// look reads a number of a semaphore, and sets the capacity that the handle has if there is none.
func (s *Semaphore) look(ctx context.Context, verb store.Verb) (int64, error) {
	n, err := capacityOf(s.change(ctx, store.Change{Verb: verb}))
	if !errors.Is(err, ErrNoCapacity) || s.own.Capacity == 0 {
		return n, err
	}
	if _, err := s.SetCapacityIfAbsent(ctx, s.own.Capacity); err != nil {
		return 0, err
	}
	return capacityOf(s.change(ctx, store.Change{Verb: verb}))
}

// Capacity returns how many permits there are in all, held or free. If no capacity was set, the error is
// [ErrNoCapacity].
func (s *Semaphore) Capacity(ctx context.Context) (int64, error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	return s.look(ctx, store.Size)
}

// SetCapacity sets how many permits there are in all, 0 or more, at first or while permits are held. The number is
// absolute, so every process may set it when it starts. If more permits are held than the new capacity, no holder
// loses any, and no caller gets any until enough were given back.
//
// A capacity of 0 is a pause: nobody gets permits, and Acquire waits for a greater capacity. If the capacity is above
// 0 and below what a waiter asks for, the waiter gets a *[CapacityError], because it would wait forever; with
// [WaitForCapacity] it goes on waiting.
//
// Until a capacity is set there are no permits: Acquire waits, which is logged, and TryAcquire is refused. If the wait
// ends without one, both return [ErrNoCapacity]. The same holds after Redis lost its data: a capacity that was set by a
// call is gone then, and one that the handle has ([Capacity]) is set again.
//
// The capacity stays until [Semaphore.Delete], or until the expiry of [ExpireUnused].
func (s *Semaphore) SetCapacity(ctx context.Context, n int64) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 0, luacall.MaxCount); err != nil {
		return err
	}
	_, err := s.change(ctx, store.Change{Verb: store.Set, N: n})
	return err
}

// SetCapacityIfAbsent sets the capacity like [Semaphore.SetCapacity] if none was set. Otherwise nothing changes. It
// returns the capacity that there is then: n, or what another caller had set. So every process can call it when it
// starts, and a capacity that an operator changed since stays.
func (s *Semaphore) SetCapacityIfAbsent(ctx context.Context, n int64) (capacity int64, err error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	if err := checkNumber(n, 0, luacall.MaxCount); err != nil {
		return 0, err
	}
	return capacityOf(s.change(ctx, store.Change{Verb: store.Begin, N: n}))
}

// AddCapacity changes the capacity by n, which may be negative, and returns what it is then. What SetCapacity says of
// a capacity that grows or shrinks holds here too. It counts once, even if its request is sent again; if the error
// matches rlock.ErrUnavailable, it is unknown whether it counted.
//
// If no capacity was set, the error is [ErrNoCapacity]. If it would fall below 0 or exceed 2,147,483,647, the error is
// an *rlock.ArgumentError that names the capacity.
func (s *Semaphore) AddCapacity(ctx context.Context, n int64) (capacity int64, err error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	if err := checkNumber(n, -luacall.MaxCount, luacall.MaxCount); err != nil {
		return 0, err
	}
	reply, err := s.change(ctx, store.Change{Verb: store.Add, N: n})
	if err == nil && reply.Status == store.Busy {
		return reply.Value, busyError(fmt.Sprintf(
			"holdfast: the capacity of semaphore %q changed while this call was being refused: call again", s.name))
	}
	return capacityOf(reply, err)
}

// capacityOf is the capacity of a reply.
func capacityOf(reply store.ChangeReply, err error) (int64, error) {
	if err == nil && reply.Status == store.Gone {
		err = ErrNoCapacity
	}
	return reply.Value, err
}
