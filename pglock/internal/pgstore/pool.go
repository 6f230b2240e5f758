package pgstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// pool has the connections by which requests are sent. Its callers bound how many are used at a time (lane).
//
// A connection that a lock was acquired by renews and releases it, if no other can be made: the server may have no
// place left for one, or this process no descriptor. So a request gets a connection that nobody uses. If there is none,
// it has one made, and takes that or the first that another request gives back. That none can be made is an error only
// if none is in use that could be given back. Renewals are served first. The client library's own pool would report at
// once that none could be made.
//
// Balancers and firewalls forget connections that were idle for some minutes, and tell neither side. So when a request
// is not answered, or its connection breaks, those are closed of which nothing has come since it was sent: each could
// cost another request the same time. If it is the server that does not answer, they are made again when it does.
type pool struct {
	dial     func(ctx context.Context) (*pgx.Conn, error)
	life     context.Context
	most     int                  // connections that callers use at a time
	idle     time.Duration        // after which a connection is closed that nobody uses
	lifetime func() time.Duration // after which one is closed when it comes back

	working sync.WaitGroup // what makes and closes connections, and the requests that have one

	mu      sync.Mutex // guards what follows
	free    []*link    // that nobody uses; the last one came back last
	queue   []*taker   // requests that wait for one, the first of them first
	used    int
	making  []*making   // that are being made
	valid   time.Time   // connections that were made before are closed when they come back
	doubted time.Time   // those of which nothing has come since are closed, if nobody uses them; never before valid
	sweeper *time.Timer // nil: nothing is to be swept
	closed  bool
}

// link is a connection of the pool.
type link struct {
	*pgx.Conn
	made, heard, end time.Time
}

// isNew reports that no request was sent on it yet.
func (l *link) isNew() bool { return l.heard.Equal(l.made) }

// making is a connection that is being made.
type making struct{ began time.Time }

// taker waits for a connection.
type taker struct {
	ctx    context.Context
	came   time.Time
	failed error         // why none could be made
	served chan struct{} // closed when it is in the queue no more, unless it has left
	link   *link
}

// take returns a connection, before the context ends. An urgent one comes before those that wait.
func (p *pool) take(ctx context.Context, urgent bool) (*link, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, context.Canceled
	}
	if l := p.freeLocked(); l != nil {
		p.lendLocked()
		p.mu.Unlock()
		return l, nil
	}
	t := &taker{ctx: ctx, came: time.Now(), served: make(chan struct{})}
	at := len(p.queue)
	if urgent {
		at = 0
	}
	p.queue = slices.Insert(p.queue, at, t)
	p.makeLocked()
	p.mu.Unlock()
	select {
	case <-t.served:
		return t.link, t.failed
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at = slices.Index(p.queue, t)
	switch {
	case at < 0 && t.link != nil:
		return t.link, nil
	case at >= 0:
		p.queue = slices.Delete(p.queue, at, at+1)
	}
	if t.failed != nil {
		return nil, t.failed
	}
	return nil, context.Cause(ctx)
}

// freeLocked takes out the connection that came back last, unless its time is over.
func (p *pool) freeLocked() *link {
	for len(p.free) > 0 {
		l := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		if now := time.Now(); now.Before(l.end) && now.Sub(l.heard) < p.idle {
			return l
		}
		p.partLocked(l)
	}
	return nil
}

func (p *pool) lendLocked() {
	p.used++
	p.working.Add(1)
}

// makeLocked has connections made for the requests that wait, one for each, but for those that are being made already:
// if a connection comes back and serves a request, the one that is made for that serves the next. A connection that has
// been in the making for long is not relied on. So there are no more than callers can use, unless some hang.
func (p *pool) makeLocked() {
	wanted := 0
	for _, m := range p.making {
		if time.Since(m.began) < soon {
			wanted--
		}
	}
	for _, t := range p.queue {
		if t.failed != nil {
			continue
		}
		if wanted++; wanted > 0 && len(p.making) < 2*p.most {
			wanted--
			m := &making{time.Now()}
			p.making = append(p.making, m)
			p.working.Go(func() { p.make(t.ctx, m) })
		}
	}
}

// soon is how long it takes to make a connection, at most, where nothing hangs.
const soon = time.Second

// make makes a connection. It goes on when the request has left for which it began: the next one has use for it. If
// connections were reset meanwhile, another one is made.
func (p *pool) make(of context.Context, m *making) {
	ctx, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(of), connecting{}, true), makeLimit)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	conn, err := p.dial(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making = slices.DeleteFunc(p.making, func(one *making) bool { return one == m })
	switch {
	case err != nil:
		p.failLocked(m, err)
	case !m.began.After(p.doubted):
		p.partLocked(&link{Conn: conn}) // it may be lost, or lead to where those led that were reset meanwhile
	case len(p.queue) == 0 && p.used+len(p.free) >= p.most:
		p.partLocked(&link{Conn: conn}) // it is one too many
	default:
		l := &link{Conn: conn, made: m.began, heard: m.began, end: time.Now().Add(p.lifetime())}
		p.lendLocked()
		p.returnLocked(l)
	}
	p.makeLocked()
}

// failLocked is a connection that could not be made. That says nothing to a request that came after it was begun, for
// which another one is made.
func (p *pool) failLocked(m *making, err error) {
	at := slices.IndexFunc(p.queue, func(t *taker) bool { return t.failed == nil && !t.came.After(m.began) })
	if at >= 0 {
		p.queue[at].failed = err
	}
	p.tellLocked()
}

// makeLimit is for how long a connection is being made at most: there may be several hosts, and the application's
// functions may ask somebody for a password.
const makeLimit = time.Minute

// put takes a connection back from the request that had it.
func (p *pool) put(l *link) {
	if !l.IsClosed() {
		l.heard = time.Now()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returnLocked(l)
}

func (p *pool) returnLocked(l *link) {
	p.used--
	p.working.Done()
	usable := !l.IsClosed() && !l.PgConn().IsBusy() && l.PgConn().TxStatus() == 'I'
	over := !l.made.After(p.valid) || !l.isNew() && !time.Now().Before(l.end)
	switch {
	case !usable || over || p.closed:
		p.partLocked(l)
		p.tellLocked()
	case len(p.queue) > 0:
		t := p.queue[0]
		p.queue = p.queue[1:]
		t.link, t.failed = l, nil
		p.lendLocked()
		close(t.served)
	default:
		p.free = append(p.free, l)
		p.sweepLocked()
	}
}

// tellLocked fails the requests for which no connection could be made, once none is in use that could be given back.
func (p *pool) tellLocked() {
	if p.used > 0 {
		return
	}
	p.queue = slices.DeleteFunc(p.queue, func(t *taker) bool {
		if t.failed != nil {
			close(t.served)
		}
		return t.failed != nil
	})
}

// partLocked closes a connection that is in use no more. If it is not closed yet, it gets a farewell.
func (p *pool) partLocked(l *link) {
	if l.IsClosed() {
		return
	}
	if p.life.Err() != nil {
		hangUp(l.PgConn())
		return
	}
	p.working.Go(func() {
		ctx, cancel := context.WithTimeout(p.life, time.Second)
		defer cancel()
		_ = l.Close(ctx)
		hangUp(l.PgConn())
	})
}

// reset closes all connections, those that are in use when they come back.
func (p *pool) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.valid = time.Now()
	p.distrustLocked(p.valid)
}

// distrust closes the connections that nobody uses and of which nothing has come since a time.
func (p *pool) distrust(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.distrustLocked(since)
}

func (p *pool) distrustLocked(since time.Time) {
	if since.After(p.doubted) {
		p.doubted = since
	}
	p.free = slices.DeleteFunc(p.free, func(l *link) bool {
		silent := !l.heard.After(since)
		if silent {
			p.partLocked(l)
		}
		return silent
	})
}

// sweepLocked has connections closed when they have been idle for long enough.
func (p *pool) sweepLocked() {
	if p.sweeper != nil || len(p.free) == 0 {
		return
	}
	p.sweeper = time.AfterFunc(time.Until(p.free[0].heard.Add(p.idle)), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.sweeper = nil
		if !p.closed {
			p.distrustLocked(time.Now().Add(-p.idle))
			p.sweepLocked()
		}
	})
}

// close closes all connections, and returns when they are: those in use when they have come back, which the end of the
// store's life has them do.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.free {
		p.partLocked(l)
	}
	p.free = nil
	if p.sweeper != nil {
		p.sweeper.Stop()
	}
	p.mu.Unlock()
	p.working.Wait()
}

// idleFor is how long a connection may be idle, for an application that allows a time. Balancers forget connections
// that are idle for longer: the first of them after four minutes. The pool's own limit is longer, so it is taken for no
// choice of the application.
func idleFor(given time.Duration) time.Duration {
	const unset, limit = 30 * time.Minute, 200 * time.Second
	if given <= 0 || given == unset {
		return limit
	}
	return given
}

// lifetimes is how long connections may live, for an application that allows a time and so much more, by chance.
func lifetimes(given, jitter time.Duration) func() time.Duration {
	return func() time.Duration {
		if jitter <= 0 {
			return given
		}
		return given + rand.N(jitter)
	}
}
