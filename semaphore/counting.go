package semaphore

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// Counting is a handle on a named number of permits that nobody owns. What a process took and did not
// give back before it died is gone until somebody calls Release for it: where that may not be, use
// [New]. All methods are safe for concurrent use.
//
// Every call counts once, also if its request has to be sent again. When one ends with an error that
// matches rlock.ErrUnavailable, whether it was carried out is not known; of Acquire and TryAcquire it
// is then undone.
type Counting struct{ handle }

// NewCounting returns a handle on the counting semaphore of that name. It is cheap and sends nothing. A
// bad name or option is an *rlock.ArgumentError from every call on the handle. Of the options only
// rlock.MaxWait has a meaning: there is no lease.
func NewCounting(client *rlock.Client, name string, opts ...rlock.Option) *Counting {
	return &Counting{newHandle(client, name, opts)}
}

// Name is the name given to NewCounting.
func (s *Counting) Name() string { return s.name }

// Set makes the semaphore, with n permits, from 0 up. If it is there, however many are left of it, the
// error is rlock.ErrBusy and nothing changes.
func (s *Counting) Set(ctx context.Context, n int64) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 0, lua.MaxCount); err != nil {
		return err
	}
	reply, err := s.once(ctx, func(c lua.Counter, r lua.Request) *lua.Call[lua.CountReply] {
		return lua.CountSet(c, n, r)
	})
	if err == nil && reply.Status == lua.Busy {
		return fmt.Errorf("semaphore: %q is there already, with %d permits left: %w",
			s.name, reply.Value, rlock.ErrBusy)
	}
	return err
}

// Acquire waits until n permits are free at once, and takes them. N is positive. It waits for as long as
// ctx and MaxWait allow, for Redisson's sake also for more than there will ever be: who may release more
// than was acquired can make as many. Inside this process those who wait get their turn first in, first
// out. On error nothing was taken.
func (s *Counting) Acquire(ctx context.Context, n int64) error {
	req, err := s.request(ctx, n)
	if err != nil {
		return err
	}
	return s.core.Engine.Take(ctx, req)
}

// TryAcquire makes one attempt and does not wait: if there are not n permits free, or somebody in this
// process was refused before and waits for some, the error is rlock.ErrBusy.
func (s *Counting) TryAcquire(ctx context.Context, n int64) error {
	req, err := s.request(ctx, n)
	if err != nil {
		return err
	}
	return s.core.Engine.TryTake(ctx, req)
}

// Release adds n permits, whoever took them, and wakes who waits. N is positive. It may add more than
// were ever taken, and makes the semaphore if it is not there. What would bring the number above
// 2,147,483,647, which is as far as Redisson counts, is an *rlock.ArgumentError.
func (s *Counting) Release(ctx context.Context, n int64) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if err := checkNumber(n, 1, lua.MaxCount); err != nil {
		return err
	}
	_, err := s.once(ctx, func(c lua.Counter, r lua.Request) *lua.Call[lua.CountReply] {
		return lua.CountRelease(c, n, r)
	})
	if most, refused := lua.Capacity(err); refused {
		return &rlock.ArgumentError{
			Name: "n", Value: n, Problem: fmt.Sprintf("must be at most %d now", most),
		}
	}
	return err
}

// Drain takes all permits that are free and returns how many those were.
func (s *Counting) Drain(ctx context.Context) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	reply, err := s.once(ctx, lua.CountDrain)
	return reply.Value, err
}

// Delete takes the semaphore away, and with it all permits that are free: for a name that nobody uses any
// more, since Redis keeps it for ever otherwise. Acquire then waits until somebody makes some; Release makes
// the semaphore again. If it is not there, Delete does nothing.
func (s *Counting) Delete(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	_, err := s.once(ctx, lua.CountDelete)
	return err
}

// Available returns how many permits are free. Others may have changed that by the time it returns.
func (s *Counting) Available(ctx context.Context) (int64, error) {
	if err := s.check(ctx); err != nil {
		return 0, err
	}
	reply, err := s.once(ctx, func(c lua.Counter, _ lua.Request) *lua.Call[lua.CountReply] {
		return lua.CountLook(c.Free)
	})
	return max(reply.Value, 0), err
}

func (s *Counting) request(ctx context.Context, n int64) (engine.Request, error) {
	if err := s.check(ctx); err != nil {
		return engine.Request{}, err
	}
	if err := checkNumber(n, 1, lua.MaxCount); err != nil {
		return engine.Request{}, err
	}
	req, err := s.client.Request(s.opts)
	req.Proto = s.core.Store.Bind(&counts{handle: s.handle, count: n})
	return req, err
}

// once has a script carried out that counts once.
func (s *Counting) once(
	ctx context.Context, prepare func(lua.Counter, lua.Request) *lua.Call[lua.CountReply],
) (lua.CountReply, error) {
	c := &counts{handle: s.handle}
	p := s.core.Store.Bind(c)
	return engine.Once(s.core.Engine, ctx, p, redisstore.Change(p, func(
		ctx context.Context, conn lua.Conn, ask store.Ask,
	) (store.Changed[lua.CountReply], error) {
		r, err := prepare(c.at(s.core.Store.Sharded()), s.remember(ask)).Run(ctx, conn)
		return store.Changed[lua.CountReply]{Reply: r, Status: r.Status, Now: r.Now}, err
	}))
}
