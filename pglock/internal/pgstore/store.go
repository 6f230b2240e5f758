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
// hub of those who listen, the lineage of the server, and the table's place.
type Store struct {
	conns *conns
	table Table         // as the application names it
	poll  time.Duration // how often a waiter asks that is not woken

	replicas int           // standbys that must have on their disks what somebody relies on
	lease    time.Duration // that its client's holds have by default

	host store.Host

	clocks serverclock.Clocks
	hub    hub
	ears   *listener

	proofs
	messages messages
	took     atomic.Int64 // how long the last request took; 0: it was not answered, or there was none

	mu      sync.Mutex // guards lineage
	lineage lineage
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Teller = (*Store)(nil)
)

// New returns a store over connections of its own, at most so many, to the server that a pool's configuration names. It
// sends nothing. Poll is how often its client asks for a lock of whose release it does not hear. Replicas is how many
// standbys must have what somebody relies on. Lease is that of holds, by default.
func New(theirs *pgxpool.Config, most int, table Table, poll time.Duration, replicas int, lease time.Duration) *Store {
	s := &Store{
		conns: newConns(theirs, most), table: table, poll: poll, replicas: replicas, lease: lease,
		proofs: proofs{unproved: table.unproved()},
	}
	s.at.Store(s.unproved)
	s.hub.init()
	s.ears = newListener(s)
	return s
}

// Start implements [store.Store].
func (s *Store) Start(host store.Host) {
	s.host, s.hub.heed, s.hub.me, s.conns.warnings.warn = host, host.Heard, host.Client, host.Warn
	s.conns.asker.limit = host.Limit / 2
}

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store].
func (s *Store) Node(string) string { return node }

// Serves implements [store.Store].
func (s *Store) Serves(string) bool { return true }

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

// ListenWanted implements [store.Store]. No grant of this store is idle, so nobody has to tell that it is wanted; that
// it was broken, the connection hears that listens for releases.
func (s *Store) ListenWanted() { s.ears.start() }

// TellBroken implements [store.Teller].
func (s *Store) TellBroken(ctx context.Context, key, id string) {
	if !s.messages.are(s.host.Clock.Now()) {
		return
	}
	err := s.send(ctx, s.conns.traffic, request{name: "tell", calls: 1, within: func(b *pgx.Batch) {
		b.Queue("SELECT pg_notify($1::text, '!' || $2::text || ' ' || $3::text), "+hurry, s.place().channel, id, key)
	}})
	if untellable(err) {
		s.silenced(err)
	}
}

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
// promoted.
func (s *Store) observe(sent time.Duration, micros int64, timeline string) {
	s.clocks.Observe(node, sent, s.host.Clock.Now(), micros)
	if timeline == "" {
		return
	}
	s.mu.Lock()
	replaced := s.lineage.observe(timeline, s.host.Clock.Now())
	s.mu.Unlock()
	if replaced {
		s.replaced()
	}
}

// replaced says that another server answers than before. Connections to the old one, which may be there still, are then
// left, and those who hold something find out at once whether the new one knows of it.
func (s *Store) replaced() {
	s.conns.pool.reset()
	s.host.Replaced()
}

// recognise takes in to which server a new connection leads. Floor is what written said before that was asked.
func (s *Store) recognise(found *Site, floor int64) {
	s.mu.Lock()
	replaced := s.lineage.recognise(found.system, found.wal, floor, s.host.Clock.Now())
	s.mu.Unlock()
	if replaced {
		s.replaced()
	}
}

// trusts is the timeline by whose clock leases end, for a caller that asks for a lease.
func (s *Store) trusts(lease time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lineage.trusts(s.host.Clock.Now(), max(s.lease, lease))
}

// settled reports that every connection leads to a server on that timeline, so that no statement need compare it.
func (s *Store) settled(lease time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.conns.asker.pooled.Load() && s.lineage.settled(s.host.Clock.Now(), max(s.lease, lease))
}

// written is how far the server's log is at least.
func (s *Store) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lineage.wal
}

// query sends a transaction that reads one row of a statement.
func (s *Store) query(
	ctx context.Context, name, sql string, args []any, read func(pgx.Row) error,
) error {
	return s.send(ctx, s.conns.traffic, request{name: name, calls: 1, within: func(b *pgx.Batch) {
		b.Queue(sql, args...).QueryRow(read)
	}})
}
