package links

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
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
// A connection's deadline bounds what is done with a connection, and not the wait for one. So what must end within
// 300 ms is also left at that time while it waits for a place in the pool, or for a dial: then bound ends.
type deadline struct {
	context.Context
	at    time.Time       // unless it was moved
	end   time.Time       // beyond which it does not move; zero: no limit
	bound context.Context // ends at end, or just after; nil: only Context may end before the time
	limit time.Duration

	moved atomic.Pointer[time.Time] // written under mu

	mu   sync.Mutex // guards left
	left bool       // the deadline moves no more
}

// Within returns a context for one exchange, with the time limit of one command. Every deadline differs, to the
// nanosecond, because it identifies the exchange. While a connection is greeted, the deadline is later; after
// that the command has its own limit; but it never moves beyond a deadline of ctx.
func Within(ctx context.Context, limit time.Duration) context.Context {
	d := &deadline{Context: ctx, limit: limit, at: unique(time.Now().Add(limit))}
	d.end, _ = ctx.Deadline()
	if of, ok := ctx.(*deadline); ok {
		d.bound = of.bound
	}
	return d
}

// WithinAll is Within for an exchange that must end within all, including the wait for a connection, its dial and its
// greeting. An exchange whose ctx can end is left with that.
func (l *Links) WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	now := time.Now()
	d := &deadline{Context: ctx, limit: limit, at: unique(now.Add(min(limit, all))), end: now.Add(all)}
	if ctx.Done() == nil {
		d.bound = l.boundAt(d.end)
	}
	return d
}

// boundSlack is how long after its time an exchange may be left.
const boundSlack = 10 * time.Millisecond

// boundAt returns a context that ends at a time, or up to boundSlack later. Exchanges whose ends are that near to each
// other share one.
//
// A timer for each release, which hardly ever fires, would have to be stopped again by whoever sends it. One for all
// that end within 10 ms is just left to fire. If two goroutines make one at the same time, both are used.
func (l *Links) boundAt(end time.Time) context.Context {
	if last := l.bound.Load(); last != nil {
		if at, _ := (*last).Deadline(); !at.Before(end) && at.Sub(end) <= boundSlack {
			return *last
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(boundSlack))
	_ = cancel // its time ends it
	l.bound.Store(&ctx)
	return ctx
}

// MayLeave reports that a caller that waits for an exchange under ctx may leave before its time.
func MayLeave(ctx context.Context) bool {
	d, ok := ctx.(*deadline)
	return ctx.Done() != nil && !(ok && d.bound != nil)
}

// unique returns a time that no other deadline has. It is never later than at.
//
// The number takes the place of the last ten bits of the nanoseconds, in the block of 1,024 ns before at. Two
// deadlines could be equal only if 1,024 were made for the same microsecond.
func unique(at time.Time) time.Time {
	const spread = 1 << 10
	number := int64(deadlines.Add(1) % spread)
	return at.Add(time.Duration(number - at.UnixNano()%spread - spread))
}

var deadlines atomic.Uint64

func (d *deadline) Deadline() (time.Time, bool) {
	if at := d.moved.Load(); at != nil {
		return *at, true
	}
	return d.at, true
}

func (d *deadline) Done() <-chan struct{} {
	if d.bound != nil {
		return d.bound.Done()
	}
	return d.Context.Done()
}

func (d *deadline) Err() error {
	if d.bound != nil {
		return d.bound.Err()
	}
	return d.Context.Err()
}

type deadlineKey struct{}

// Value asks bound too: by that, package context recognizes a context of its own, and needs no goroutine to watch it.
func (d *deadline) Value(key any) any {
	if _, ok := key.(deadlineKey); ok {
		return d
	}
	if d.bound != nil {
		if value := d.bound.Value(key); value != nil {
			return value
		}
	}
	return d.Context.Value(key)
}

// move moves the deadline to a later time.
//
// mu excludes LeaveCall. Without it the deadline could move after LeaveCall has read it: the exchange that was
// left would then get a new deadline on its connection, and its read would go on although its caller is gone.
func (d *deadline) move(at time.Time) {
	if !d.end.IsZero() && at.After(d.end) {
		at = d.end
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now, _ := d.Deadline(); d.left || !at.After(now) {
		return
	}
	at = unique(at)
	d.moved.Store(&at)
}

// greetingFor is how long dialling may take under a command's limit, and greeting again: go-redis sends HELLO,
// and then identifies itself.
func greetingFor(limit time.Duration) time.Duration {
	const trips, enough = 2, 3 * time.Second
	return max(limit, min(trips*limit, enough))
}

// greets records that the command's connection must be greeted first.
func greets(ctx context.Context) {
	if d, ok := ctx.Value(deadlineKey{}).(*deadline); ok {
		d.move(time.Now().Add(greetingFor(d.limit)))
	}
}

// greeted records that the command comes next.
func greeted(ctx context.Context) {
	if d, ok := ctx.Value(deadlineKey{}).(*deadline); ok {
		d.move(time.Now().Add(d.limit))
	}
}

// LeaveCall is Leave with the current deadline of ctx, which it returns. If an exchange is found, the deadline no
// longer moves.
func (ws *Wires) LeaveCall(ctx context.Context) (*Wire, time.Time) {
	d, ok := ctx.(*deadline)
	if !ok {
		at, _ := ctx.Deadline()
		return ws.Leave(at), at
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := d.Deadline()
	w := ws.Leave(at)
	d.left = w != nil
	return w, at
}

// greetings are the options by which go-redis shows the progress of a connection: it asks for the credentials
// before the first command, and calls OnConnect after the last.
//
// A struct per client, used by every connection that it makes; nothing in it changes.
type greetings struct {
	provider   func() (username, password string)
	withCtx    func(ctx context.Context) (username, password string, err error)
	user, pass string
	onConnect  func(ctx context.Context, conn *redis.Conn) error
}

func (g greetings) credentials(ctx context.Context) (username, password string, err error) {
	greets(ctx)
	switch {
	case g.withCtx != nil:
		return g.withCtx(ctx)
	case g.provider != nil:
		username, password = g.provider()
		return username, password, nil
	}
	return g.user, g.pass, nil
}

func (g greetings) connected(ctx context.Context, conn *redis.Conn) error {
	if g.onConnect != nil {
		if err := g.onConnect(ctx, conn); err != nil {
			return err
		}
	}
	greeted(ctx)
	return nil
}
