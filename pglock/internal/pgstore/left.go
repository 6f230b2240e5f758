package pgstore

import (
	"context"
	"errors"
	"net"
	"os"
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
// that hangs. The pool forgets such a connection and makes another one; request by request it would take all sessions
// that the server allows. So a request has a slot until the server has finished with it. Its connection stays open,
// with the client library's farewell behind the request: when the server has read that, it ends the session, and the
// connection.
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
		l.spare = make(chan struct{}, spares)
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

// wire is a connection that ends with the store.
type wire struct {
	net.Conn
	stop func() bool

	mu   sync.Mutex // guards left
	left func()     // is called when the other side has ended the connection, once; nil: no request was left on it
}

// leave has the connection stay open until the other side ends it, and a function called then.
func (w *wire) leave(ended func()) {
	w.mu.Lock()
	w.left = ended
	w.mu.Unlock()
	_ = w.Conn.SetReadDeadline(time.Time{})
}

func (w *wire) isLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left != nil
}

// Read implements [net.Conn].
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.ended()
	}
	return n, err
}

func (w *wire) ended() {
	w.mu.Lock()
	ended := w.left
	w.left = nil
	w.mu.Unlock()
	if ended != nil {
		ended()
	}
}

// SetDeadline implements [net.Conn]. The client library gives the other side some seconds; see leave.
func (w *wire) SetDeadline(at time.Time) error {
	if w.isLeft() {
		return w.Conn.SetWriteDeadline(at)
	}
	return w.Conn.SetDeadline(at)
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
	pooled atomic.Bool   // a session had another number than its connection, as behind a pooler

	mu      sync.Mutex // guards left and asks
	left    []*unanswered
	asks    bool // run is under way
	running sync.WaitGroup
}

// unanswered is a request that was left.
type unanswered struct {
	pid    uint32 // of its session, as the connection says
	since  time.Time
	wire   *wire
	settle func() // gives its slot back
}

const (
	askFirst = 100 * time.Millisecond // until the first question, and between two if somebody waits for the answer
	askLast  = 5 * time.Second        // between two at most

	// forgotten is when a request is given up of whose session the server cannot be asked.
	forgotten = time.Minute
)

// leave takes in that a request was given up. Free gives its slot back.
func (a *asker) leave(conn *pgconn.PgConn, free func()) {
	one := &unanswered{pid: conn.PID(), since: time.Now(), wire: wireOf(conn)}
	one.settle = sync.OnceFunc(func() {
		a.mu.Lock()
		a.left = slices.DeleteFunc(a.left, func(other *unanswered) bool { return other == one })
		a.mu.Unlock()
		free()
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	one.wire.leave(one.settle)
	if a.conns.life.Err() != nil {
		return
	}
	a.left = append(a.left, one)
	if !a.asks {
		a.asks = true
		a.running.Go(a.run)
	}
}

// hurries has the next question be asked soon.
func (a *asker) hurries() {
	select {
	case a.hurry <- struct{}{}:
	default:
	}
}

// run asks until no request is left.
func (a *asker) run() {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			hangUp(conn.PgConn())
		}
	}()
	for pause := askFirst; a.sleep(pause); pause = min(2*pause, askLast) {
		a.mu.Lock()
		left := slices.Clone(a.left)
		a.asks = len(left) > 0
		a.mu.Unlock()
		if len(left) == 0 {
			return
		}
		over := func(one *unanswered) bool { return time.Since(one.since) > forgotten }
		if !a.pooled.Load() {
			var works []uint32
			if conn, works = a.question(conn, left); conn == nil {
				continue
			}
			over = func(one *unanswered) bool { return !slices.Contains(works, one.pid) }
		}
		for _, one := range left {
			if over(one) {
				_ = one.wire.Close()
				one.settle()
				pause = askFirst
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
func (a *asker) question(conn *pgx.Conn, left []*unanswered) (*pgx.Conn, []uint32) {
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
		pids[i] = int32(one.pid)
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
