package links

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline is a context with its own deadline: go-redis applies that to the connection, and no timer is needed.
//
// A command that needs a new connection has one phase more, the greeting, for which go-redis uses the command's
// context as well. What fits into the time limit of a command need not fit together with a greeting of several
// round trips, however often it is repeated. So each has its own limit, and the deadline moves.
//
// An example with a limit of 200 ms. The command starts at 0 with the deadline 200 ms. It needs a connection,
// which is dialled within 100 ms; then the greeting begins, and the deadline moves to 500 ms. The greeting ends at
// 350 ms, and the command has until 550 ms. A release that must end within 300 ms (WithinAll) starts with 200 ms
// as well, and its deadline never moves beyond 300 ms.
//
// A connection's deadline bounds what is done with a connection, and not the wait for one. A caller that must not wait
// for that either needs a timer, as the pipe has one for each call.
type deadline struct {
	context.Context
	at       time.Time // unless it was moved
	end      time.Time // beyond which it does not move; zero: no limit
	limit    time.Duration
	requests []context.Context // whose deadlines move with this one

	// Written by the goroutine that makes a connection.
	greeting atomic.Bool // one was made
	moved    atomic.Pointer[time.Time]
}

// Within returns a context for one exchange, with the time limit of one command. While a connection is greeted, the
// deadline is later; after that the command has its own limit; but it never moves beyond a deadline of ctx.
func Within(ctx context.Context, limit time.Duration) context.Context {
	d := &deadline{Context: ctx, limit: limit, at: time.Now().Add(limit)}
	d.end, _ = ctx.Deadline()
	return d
}

// WithinAll is Within for an exchange that must end within all, with the dial and the greeting of its connection.
func WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	now := time.Now()
	return &deadline{Context: ctx, limit: limit, at: now.Add(min(limit, all)), end: now.Add(all)}
}

// Together returns a context for one exchange that carries several requests. It does not end with theirs, and has a
// time limit of its own, and less if it uses a connection that is there. If a connection has to be greeted, each of
// their deadlines moves too, by its own limit.
func Together(requests []context.Context, there, limit time.Duration) context.Context {
	return &deadline{
		Context: context.Background(), limit: limit, at: time.Now().Add(there), requests: requests,
	}
}

// Sooner returns a context for an exchange of ctx that has less time over a connection that is there. If one has to be
// greeted, it has as long as ctx, whose deadline moves too.
func Sooner(ctx context.Context, there time.Duration) context.Context {
	d := deadlineOf(ctx)
	if d == nil {
		return ctx
	}
	return &deadline{
		Context: ctx, limit: d.limit, end: d.end, at: time.Now().Add(there), requests: []context.Context{ctx},
	}
}

func (d *deadline) Deadline() (time.Time, bool) {
	if at := d.moved.Load(); at != nil {
		return *at, true
	}
	return d.at, true
}

type deadlineKey struct{}

func (d *deadline) Value(key any) any {
	if _, ok := key.(deadlineKey); ok {
		return d
	}
	return d.Context.Value(key)
}

// extend moves the deadline of ctx, and of the requests that it carries, to a time of theirs from now.
func (d *deadline) extend(by func(limit time.Duration) time.Duration) {
	d.move(time.Now().Add(by(d.limit)))
	for _, request := range d.requests {
		if r := deadlineOf(request); r != nil {
			r.extend(by)
		}
	}
}

// deadlineOf returns the deadline of a context that has one of ours, or is derived from such a one; otherwise nil.
func deadlineOf(ctx context.Context) *deadline {
	d, _ := ctx.Value(deadlineKey{}).(*deadline)
	return d
}

// move moves the deadline to a later time.
func (d *deadline) move(at time.Time) {
	if !d.end.IsZero() && at.After(d.end) {
		at = d.end
	}
	if now, _ := d.Deadline(); at.After(now) {
		d.moved.Store(&at)
	}
}

// greetingFor is how long dialling may take under a command's limit, and greeting again: go-redis sends HELLO,
// and then identifies itself.
func greetingFor(limit time.Duration) time.Duration {
	const trips, enough = 2, 3 * time.Second
	return max(limit, min(trips*limit, enough))
}

// greets records that the command's connection must be greeted first. That counts once: if go-redis tries another
// connection after one that failed, for instance of its other pool, that one has what is left.
func greets(ctx context.Context) {
	if d := deadlineOf(ctx); d != nil && !d.greeting.Swap(true) {
		d.extend(greetingFor)
	}
}

// greeted records that the command comes next.
func greeted(ctx context.Context) {
	if d := deadlineOf(ctx); d != nil {
		d.extend(func(limit time.Duration) time.Duration { return limit })
	}
}
