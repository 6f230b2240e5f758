package semaphore

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Counting is a handle on a named number of permits that nobody owns. Permits that a process took and had not given
// back when it died are gone until another process calls Release for them; if that is unacceptable, use [New]. All
// methods are safe for concurrent use.
//
// A number that Redis lost is gone: there are no permits until somebody calls Set or Release, and those that were taken
// before are added as they are given back.
//
// Every call counts once, even if its request is sent again. If the error matches rlock.ErrUnavailable, it is unknown
// whether the call was carried out; an Acquire or TryAcquire is then undone.
type Counting struct{ handle }

// NewCounting returns a handle on the counting semaphore of that name. It is cheap and sends nothing. With an invalid
// name or option every call on the handle returns an *rlock.ArgumentError. Only the option rlock.MaxWait has an
// effect: there is no lease.
func NewCounting(client *rlock.Client, name string, opts ...rlock.Option) *Counting {
	h := newHandle(client, name, opts)
	if h.err == nil && h.own.Unused > 0 {
		h.err = &rlock.ArgumentError{
			Name: "ExpireUnused", Value: h.own.Unused,
			Problem: "does not work with a counting semaphore, whose permits nobody owns: use New",
		}
	}
	if h.err == nil && h.own.Capacity > 0 {
		h.err = &rlock.ArgumentError{
			Name: "Capacity", Value: h.own.Capacity,
			Problem: "does not work with a counting semaphore, which has none: use New, or Set",
		}
	}
	return &Counting{h}
}

// Name is the name given to NewCounting.
func (s *Counting) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Set creates the semaphore with n permits; n must be 0 or more. If the semaphore exists, however many permits are
// left, the error is rlock.ErrBusy and nothing changes.
func (s *Counting) Set(ctx context.Context, n int64) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 0, luacall.MaxCount); err != nil {
		return err
	}
	reply, err := s.change(ctx, store.Change{Verb: store.Set, N: n})
	if err == nil && reply.Status == luacall.Busy {
		return busyError(fmt.Sprintf(
			"holdfast: semaphore %q already exists, with %d permits left", s.name, reply.Value))
	}
	return err
}

// Acquire waits until n permits are free at once, and takes them; n must be positive. It waits as long as ctx and
// MaxWait allow. It does not reject an n greater than the initial count, because Release may add permits beyond it,
// as in Redisson. Inside this process waiters are served first in, first out. On error nothing was taken.
func (s *Counting) Acquire(ctx context.Context, n int64) error {
	req, err := s.request(ctx, n)
	if err != nil {
		return err
	}
	return s.core.Engine.Take(ctx, req)
}

// TryAcquire makes one attempt and does not wait. If fewer than n permits are free, or a caller in this process was
// refused before and still waits, the error is rlock.ErrBusy.
func (s *Counting) TryAcquire(ctx context.Context, n int64) error {
	req, err := s.request(ctx, n)
	if err != nil {
		return err
	}
	return s.core.Engine.TryTake(ctx, req)
}

// Release adds n permits, no matter which caller took them, and wakes waiters; n must be positive. It may add more
// than were ever taken, and creates the semaphore if it does not exist. If the number would exceed 2,147,483,647, the
// most that Redisson can count, the error is an *rlock.ArgumentError.
func (s *Counting) Release(ctx context.Context, n int64) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 1, luacall.MaxCount); err != nil {
		return err
	}
	_, err := s.change(ctx, store.Change{Verb: store.Add, N: n})
	return err
}

// AddCapacity adds n permits for good, or takes that many away if n is negative, and wakes waiters. Permits that are
// taken away need not be free: the number may fall below zero, and then nobody gets any until enough were given back.
// If the semaphore does not exist, AddCapacity creates it. A number beyond 2,147,483,647, or as far below zero, is an
// *rlock.ArgumentError.
func (s *Counting) AddCapacity(ctx context.Context, n int64) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, -luacall.MaxCount, luacall.MaxCount); err != nil {
		return err
	}
	_, err := s.change(ctx, store.Change{Verb: store.Add, N: n})
	return err
}

// Drain takes all free permits and returns their number. Where none are free it changes nothing, below zero too.
func (s *Counting) Drain(ctx context.Context) (int64, error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	reply, err := s.change(ctx, store.Change{Verb: store.Drain})
	return reply.Value, err
}

// Delete removes the semaphore with all its free permits, for a name that is no longer in use: Redis keeps it for
// ever otherwise. Acquire then waits until a caller adds permits; Release creates the semaphore again. If the
// semaphore does not exist, Delete does nothing.
func (s *Counting) Delete(ctx context.Context) error {
	if err := s.part().check(ctx); err != nil {
		return err
	}
	_, err := s.change(ctx, store.Change{Verb: store.Delete})
	return err
}

// Available returns how many permits are free. Below zero it is how many have to be given back before one is free,
// which AddCapacity can make of it. The number may have changed by the time it returns.
func (s *Counting) Available(ctx context.Context) (int64, error) {
	if err := s.part().check(ctx); err != nil {
		return 0, err
	}
	reply, err := s.change(ctx, store.Change{Verb: store.Look})
	return reply.Value, err
}

func (s *Counting) request(ctx context.Context, n int64) (engine.Request, error) {
	if err := s.part().check(ctx); err != nil {
		return engine.Request{}, err
	}
	if err := checkNumber(n, 1, luacall.MaxCount); err != nil {
		return engine.Request{}, err
	}
	req, err := s.client.Request(s.opts)
	req.Proto = s.core.Store.Bind(s.counts(n))
	return req, err
}

func (s *Counting) counts(n int64) *counts {
	return &counts{handle: s.handle, count: n, traits: store.Traits{
		Layout: store.Count, Kind: string(lock.KindCounting), Noun: noun, Busy: errTaken, SeveralAsk: true,
		Permits: n,
	}}
}

// change has the store carry out a change, which counts once.
func (s *Counting) change(ctx context.Context, what store.Change) (store.ChangeReply, error) {
	return s.core.Engine.Change(ctx, s.core.Store.Bind(s.counts(0)), what)
}
