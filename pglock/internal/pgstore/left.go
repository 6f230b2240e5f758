package pgstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// lane bounds how many requests of a sort are under way at a time, and so how many connections they have.
//
// A request that is given up goes on at the server, with its session: a commit that waits for a standby, or for a disk
// that hangs. If its connection were closed, another one would be made, and request by request they would take all
// sessions that the server allows. Behind a pooler the session would be closed as well, and a server that is slow would
// become slower by making new ones. So a request that was given up keeps its connection and its slot until the server
// has answered, and then others use the connection.
//
// A server that is gone says nothing. So while requests are left, another connection asks which of their sessions still
// work, one at a time (asker).
type lane struct {
	slots chan struct{} // one is in it for each request that the server may work on
	spare chan struct{} // the same for one that waits for no disk and no standby, if there is no other slot; nil: none
}

func newLane(most int, spare bool) *lane {
	l := &lane{slots: make(chan struct{}, most)}
	if spare {
		l.spare = make(chan struct{}, 1)
	}
	return l
}

// slot takes a slot, and returns where to give it back; nil if there is none.
func (l *lane) slot() (of chan struct{}) {
	select {
	case l.slots <- struct{}{}:
		return l.slots
	default:
		return nil
	}
}

// wait waits for a slot until a context ends.
func (l *lane) wait(ctx context.Context, spare bool) (of chan struct{}) {
	other := l.spare
	if !spare {
		other = nil
	}
	select {
	case l.slots <- struct{}{}:
		return l.slots
	case other <- struct{}{}:
		return other
	case <-ctx.Done():
		return nil
	}
}

var errNoSlot = errors.New("no connection is free: the server has not finished requests that were given up")

// errNoAnswer is the error of a request that was given up.
var errNoAnswer = fmt.Errorf("timeout: %w", context.DeadlineExceeded)

// exchange is the use of a connection by a request until it is answered, whether its caller waits for that or has left.
type exchange struct {
	conn  *link
	slot  chan struct{} // where to give the slot back
	began time.Time

	ctx    context.Context // until when there may be an answer
	cancel context.CancelFunc

	mu    sync.Mutex // guards what is below
	at    time.Time  // until when the caller waits; only what asks changes it, and reads it without mu
	begun bool       // the request itself is being sent
	left  bool       // the caller has left
	over  bool       // the connection is given back
	since time.Time  // when the caller left

	idle bool // the asker's: the server did not work on it when it was asked last
}

// sends reports that the caller still waits, and notes that something is sent from now on.
func (x *exchange) sends() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.begun = !x.left
	return x.begun
}

func (x *exchange) sent() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.begun
}

// stays has the caller wait until another time, if it still waits.
func (x *exchange) stays(until time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = until
}

// leave has the caller leave an exchange. If that is over, or its time is not, leave returns how long to wait instead.
func (s *Store) leave(x *exchange) (rest time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch rest := time.Until(x.at); {
	case x.over:
		return patientFor
	case rest > 0:
		return rest
	}
	x.left, x.since = true, time.Now()
	s.conns.pool.leave(x.conn)
	s.conns.pool.distrust(x.began)
	s.conns.asker.watch(x)
	return 0
}

// patientFor is longer than it takes to hand on an answer that is there.
const patientFor = time.Minute

// finish gives the connection and the slot of an exchange back, which ended with an error or none. A connection that
// broke is closed here and now: the client library would wait for what the server still says.
func (s *Store) finish(x *exchange, err error) {
	x.cancel()
	x.mu.Lock()
	x.over = true
	left := x.left
	x.mu.Unlock()
	if left {
		s.conns.asker.forget(x)
	}
	switch {
	case misled(err):
		s.conns.pool.reset() // others may lead there, too
	case x.conn.IsClosed():
		hangUp(x.conn.PgConn())
		if !left {
			s.conns.pool.distrust(x.began)
		}
	}
	s.conns.pool.put(x.conn)
	<-x.slot
}

// giveUp closes the connection, unless the answer has come meanwhile: it is another request's then.
func (x *exchange) giveUp() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		hangUp(x.conn.PgConn())
	}
}

// wire is a connection that ends with the store.
type wire struct {
	net.Conn
	stop func() bool
}

func (w *wire) Close() error {
	w.stop()
	return w.Conn.Close()
}

// wireOf is the connection below what encrypts it.
func wireOf(conn *pgconn.PgConn) *wire {
	raw := conn.Conn()
	if over, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = over.NetConn()
	}
	w, _ := raw.(*wire)
	return w
}

// hangUp ends a connection without a farewell. One that is encrypted would wait until it has said one.
func hangUp(conn *pgconn.PgConn) { _ = wireOf(conn).Close() }

// asker asks the server which of the requests that were left it still works on.
type asker struct {
	conns  *conns
	limit  time.Duration // of a question; set before the first request
	hurry  chan struct{} // somebody waits for a slot
	pooled atomic.Bool   // sessions have other numbers than connections, as behind a pooler

	mu      sync.Mutex // guards left and asks
	left    []*exchange
	asks    bool // run is under way
	running sync.WaitGroup
}

const (
	askFirst = 100 * time.Millisecond // until the first question, and between two if somebody waits for the answer
	askLast  = 5 * time.Second        // between two at most
	askLeast = time.Second            // for how long an answer is waited for at least: to leave one costs a session
	askAgain = 10 * time.Second       // for how long the connection is kept when there is nothing to ask

	// forgotten is when a request is given up of whose session the server cannot be asked.
	forgotten = time.Minute
)

// watch takes in that a caller has left an exchange.
func (a *asker) watch(x *exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns.life.Err() != nil {
		return
	}
	a.left = append(a.left, x)
	if !a.asks {
		a.asks = true
		a.running.Go(a.run)
	}
}

// forget takes in that an exchange is over.
func (a *asker) forget(x *exchange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = slices.DeleteFunc(a.left, func(other *exchange) bool { return other == x })
}

// hurries has the next question be asked soon.
func (a *asker) hurries() {
	select {
	case a.hurry <- struct{}{}:
	default:
	}
}

// run asks until no request has been left for a while. A server that is slow is not to make connections for this again
// and again.
func (a *asker) run() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			hangUp(conn.PgConn())
		}
	}()
	busy := time.Now()
	for pause := askFirst; a.sleep(pause); pause = min(2*pause, askLast) {
		a.mu.Lock()
		left := slices.Clone(a.left)
		a.asks = len(left) > 0 || time.Since(busy) < askAgain
		asks := a.asks
		a.mu.Unlock()
		if !asks {
			return
		}
		if len(left) == 0 {
			continue
		}
		busy = time.Now()
		over := func(x *exchange) bool { return time.Since(x.since) > forgotten }
		if !a.pooled.Load() {
			var works []uint32
			if conn, works = a.question(conn, left); conn == nil {
				continue
			}
			over = func(x *exchange) bool { return !slices.Contains(works, x.conn.PgConn().PID()) }
		}
		for _, x := range left {
			was := x.idle
			if x.idle = over(x); x.idle {
				pause = askFirst
			}
			if x.idle && was { // otherwise the answer may just be on its way
				x.giveUp()
			}
		}
	}
}

// sleep reports false if the store ends meanwhile.
func (a *asker) sleep(pause time.Duration) bool {
	select {
	case <-a.conns.life.Done():
		return false
	case <-time.After(min(pause, askFirst)):
	}
	select {
	case <-a.conns.life.Done():
		return false
	case <-a.hurry:
	case <-time.After(pause - min(pause, askFirst)):
	}
	return true
}

// question asks which sessions work. It makes a connection for that, if there is none, and returns none if it was not
// answered.
func (a *asker) question(conn *pgx.Conn, left []*exchange) (*pgx.Conn, []uint32) {
	ctx, cancel := context.WithTimeout(context.WithValue(a.conns.life, connecting{}, true), a.limit)
	defer cancel()
	var err error
	if conn == nil {
		if conn, err = a.conns.listener(ctx); err != nil {
			return nil, nil
		}
	}
	pids := make([]int32, len(left))
	for i, one := range left {
		pids[i] = int32(one.conn.PgConn().PID())
	}
	rows, err := conn.Query(ctx, "SELECT pid::bigint::oid FROM pg_stat_activity WHERE pid = ANY ($1::int[]) AND "+
		"coalesce(state, 'active') NOT LIKE 'idle%'", pids)
	var works []uint32
	if err == nil {
		works, err = pgx.CollectRows(rows, pgx.RowTo[uint32])
	}
	if err != nil {
		hangUp(conn.PgConn())
		return nil, nil
	}
	return conn, works
}
