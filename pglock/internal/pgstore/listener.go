package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/store"
)

// listener is the connection that hears of releases, and of holds that were broken: one for all names, made when the
// first caller has to wait, or has held something for a while.
//
// A pooler in transaction mode accepts LISTEN and delivers nothing. So each connection first has to hear a message that
// is sent to it by another one. If it does not, waiters poll, and it is tried again, ever more rarely: a server that
// was busy for a moment looks the same. The second time in a row the log says why.
type listener struct {
	store   *Store
	first   sync.Once       // starts it
	ctx     context.Context // until end
	end     context.CancelFunc
	running sync.WaitGroup
	probes  atomic.Int64 // that were sent

	// What follows belongs to run.
	deaf    int  // how many connections in a row heard nothing
	refused bool // the server did not let the last one in
}

const (
	probeLimit = 2 * time.Second  // until a probe must have been heard
	deafFor    = time.Minute      // until a connection is tried again after several that were deaf
	pingEvery  = 10 * time.Second // without a message the connection is asked whether it still lives
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// ErrDeaf is the error of a connection that hears nothing.
var ErrDeaf = errors.New("LISTEN was accepted, but a message that was sent to the channel did not arrive")

// errEnded is that of a listener whose store ends.
var errEnded = errors.New("the store ends")

func newListener(s *Store) *listener {
	l := &listener{store: s}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// start starts it at the first call.
func (l *listener) start() { l.first.Do(func() { l.running.Go(l.run) }) }

func (l *listener) join() {
	l.end()
	l.running.Wait()
}

// run connects and listens, until end.
func (l *listener) run() {
	pause := firstPause
	for l.ctx.Err() == nil {
		began := time.Now()
		err := l.listen(l.ctx)
		l.store.hub.broke()
		switch {
		case errors.Is(err, ErrDeaf):
			l.store.hub.deafened()
			if l.deaf++; l.deaf == 2 {
				l.store.host.Warn("PostgreSQL delivers no notifications, as behind a pooler in transaction mode: "+
					"waiters notice releases of other processes only when they poll", "poll", l.store.poll.String())
			}
			pause = min(lastPause<<min(l.deaf-1, 10), deafFor)
		case refused(err):
			l.store.hub.deafened()
			if !l.refused {
				l.refused = true
				l.store.host.Warn("this client cannot listen for releases: waiters notice those of other processes "+
					"only when they poll", "poll", l.store.poll.String(), "error", err)
			}
		case time.Since(began) > pingEvery:
			pause = firstPause
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// listen hears messages by one connection, until it breaks.
func (l *listener) listen(ctx context.Context) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(conn.PgConn())
	l.deaf, l.refused = 0, false
	l.store.hub.stands()
	l.store.host.Missed()
	for {
		message, err := l.next(ctx, conn)
		if err != nil {
			return err
		}
		kind, id, name := read(message)
		switch from := store.ClientOf(id); {
		case kind == '=':
			l.store.hub.message(from, name)
		case kind == '+':
			l.store.hub.announced(from, name)
		case kind == '!' && from == l.store.host.Client:
			l.store.host.Broken(name, id)
		}
	}
}

// read reads a message: of a release ('='), of one who waits ('+') or of a hold that was broken ('!'), of which id, and
// the name of the lock. All other messages are of no kind.
func read(message string) (kind byte, id, name string) {
	if message == "" || !strings.ContainsRune("=+!", rune(message[0])) {
		return 0, "", ""
	}
	id, name, ok := strings.Cut(message[1:], " ")
	if !ok {
		return 0, "", ""
	}
	return message[0], id, name
}

// try connects, and leaves again.
func (l *listener) try(ctx context.Context) error {
	conn, err := l.connect(ctx)
	if err == nil {
		hangUp(conn.PgConn())
	}
	return err
}

// connect makes a connection that hears what is sent to the channel.
func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	limited, cancel := context.WithTimeout(context.WithValue(ctx, connecting{}, true), probeLimit+l.store.host.Limit)
	defer cancel()
	conn, err := l.store.conns.listener(limited)
	if err != nil {
		return nil, err
	}
	channel := pgx.Identifier{l.store.place().channel}.Sanitize()
	if _, err = conn.Exec(limited, "LISTEN "+channel); err == nil {
		err = l.probe(limited, conn)
	}
	if err != nil {
		hangUp(conn.PgConn())
		return nil, err
	}
	return conn, nil
}

// probe sends a message by another connection, and waits for it.
func (l *listener) probe(ctx context.Context, conn *pgx.Conn) error {
	token := fmt.Sprintf("?%s %d", l.store.host.Client, l.probes.Add(1))
	err := l.store.send(l.store.Within(ctx, l.store.host.Limit), l.store.conns.traffic, request{
		name: "probe", calls: 1,
		within: func(b *pgx.Batch) { b.Queue("SELECT pg_notify($1::text, $2::text)", l.store.place().channel, token) },
	})
	if err != nil {
		return err
	}
	waits, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(waits)
		switch {
		case err == nil && n.Payload == token:
			return nil
		case err == nil:
		case l.ctx.Err() != nil:
			return errEnded
		case waits.Err() != nil:
			return ErrDeaf
		default:
			return err
		}
	}
}

// next waits for a message. A connection that is silent is asked whether it lives: one that half died would never say.
func (l *listener) next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		waits, cancel := context.WithTimeout(ctx, pingEvery)
		n, err := conn.WaitForNotification(waits)
		cancel()
		switch {
		case err == nil:
			return n.Payload, nil
		case ctx.Err() != nil:
			return "", errEnded
		case waits.Err() == nil:
			return "", err
		}
		limited, cancel := context.WithTimeout(ctx, l.store.host.Limit)
		err = conn.Ping(limited)
		cancel()
		if err != nil {
			return "", fmt.Errorf("the connection that listens does not answer: %w", err)
		}
	}
}
