package pgstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Name is what errors and logs call the store.
const Name = "PostgreSQL"

// node is the name of the only node there is: the server that can be written to.
const node = "postgresql"

// Store keeps locks in a table of PostgreSQL. It implements [store.Store].
//
// What several goroutines share is fixed by Start, or has a mutex of its own: the estimate of the server's clock, the
// hub of those who listen, and the timeline.
type Store struct {
	conns *conns
	table Table
	sql   *statements
	poll  time.Duration // how often a waiter asks that is not woken
	host  store.Host

	clocks serverclock.Clocks
	hub    hub
	ears   *listener

	checked atomic.Bool // the table is there and may be used

	mu       sync.Mutex // guards timeline
	timeline string     // of the last answer; "": nothing is known
}

var _ store.Store = (*Store)(nil)

// New returns a store over connections of its own, at most so many, to the server that a pool's configuration names.
// It sends nothing. Poll is how often its client asks for a lock of whose release it does not hear.
func New(theirs *pgxpool.Config, most int32, table Table, poll time.Duration) (*Store, error) {
	c, err := newConns(theirs, most)
	if err != nil {
		return nil, err
	}
	s := &Store{conns: c, table: table, sql: statementsOf(table.quoted()), poll: poll}
	s.hub.init()
	s.ears = newListener(s)
	return s, nil
}

// Start implements [store.Store].
func (s *Store) Start(host store.Host) { s.host, s.hub.heed, s.hub.me = host, host.Heard, host.Client }

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store].
func (s *Store) Node(string) string { return node }

// Direct implements [store.Store]: a request that is left costs its connection.
func (s *Store) Direct() bool { return false }

// Replaceable implements [store.Store]: a standby may be promoted that lacks the last commits.
func (s *Store) Replaceable() bool { return true }

// Slot implements [store.Store]: one request serves all names.
func (s *Store) Slot(string) int { return 0 }

// Late implements [store.Store].
func (s *Store) Late(_ string, late store.Late) time.Duration {
	return s.clocks.Left(node, s.host.Clock.Now(), int64(late))
}

// Instant implements [store.Store]. It is a time of the server's clock, in µs.
func (s *Store) Instant(_ string, in time.Duration) int64 {
	return s.clocks.Latest(node, s.host.Clock.Now()) + in.Microseconds()
}

// Listen implements [store.Store]. The first call opens the connection that listens, to all names.
func (s *Store) Listen(channel, key string) store.Ticket {
	s.ears.start()
	return s.hub.listen(channel, key)
}

// Heard implements [store.Store].
func (s *Store) Heard(channel string) store.Heard { return s.hub.heard(channel) }

// Others implements [store.Store]. PostgreSQL counts no receivers: a lock is wanted by another client, or it is not.
// How many there are is what those who had the lock lately add up to.
func (s *Store) Others(channel string, receivers int64) int {
	if receivers <= 0 {
		return 0
	}
	return max(s.hub.rivals(channel), 1)
}

// ListenWanted implements [store.Store]: no grant of this store is idle, so nobody has to tell that it is wanted.
func (s *Store) ListenWanted() {}

// End implements [store.Store]. No caller waits for an answer but where it would cost a connection to leave, so it ends
// the listener alone.
func (s *Store) End() { s.ears.end() }

// HangUp implements [store.Store].
func (s *Store) HangUp() { s.conns.hangUp() }

// Wait implements [store.Store].
func (s *Store) Wait() {
	s.ears.join()
	s.conns.close()
}

// observe takes in what an answer told of the server: its clock, and its timeline, which changes when a standby is
// promoted. Connections to the old primary, which may be there still, are then left, and those who hold something find
// out at once whether the new one knows of it.
func (s *Store) observe(sent time.Duration, micros int64, timeline string) {
	s.clocks.Observe(node, sent, s.host.Clock.Now(), micros)
	if timeline == "" {
		return
	}
	s.mu.Lock()
	replaced := s.timeline != "" && s.timeline != timeline
	s.timeline = timeline
	s.mu.Unlock()
	if replaced {
		s.conns.reset()
		s.host.Replaced()
	}
}

// Ready implements [store.Store]: once, it finds out whether the table is there, and may be used.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	if s.checked.Load() {
		return nil
	}
	sent := s.host.Clock.Now()
	found, err := s.Site(s.Within(ctx, limit))
	if err != nil {
		return err
	}
	s.observe(sent, found.micros, found.timeline)
	if err := found.problem(s.table); err != nil {
		return err
	}
	s.checked.Store(true)
	return nil
}

// query sends a transaction that reads one row of a statement.
func (s *Store) query(
	ctx context.Context, name, sql string, args []any, read func(pgx.Row) error,
) error {
	return s.send(ctx, s.conns.traffic, request{name: name, calls: 1, within: func(b *pgx.Batch) {
		b.Queue(sql, args...).QueryRow(read)
	}})
}
