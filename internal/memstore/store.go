package memstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Store is one client's way to a [Server]. It implements [store.Store].
type Store struct {
	server *Server
	client int
	direct bool
	host   store.Host
	clocks serverclock.Clocks

	sent  atomic.Uint64 // requests, subscriptions and messages
	ended chan struct{} // closed by End
	hung  chan struct{} // closed by HangUp
	own   sync.WaitGroup
	late  timers // messages that are under way, and subscriptions that linger

	subscriptions
}

// subscriptions are those of one client.
type subscriptions struct {
	mu   sync.Mutex // guards subs, and what they consist of
	subs map[string]*subscription
	made uint64 // how many were confirmed
}

// Store returns a client's way to the server. In a direct one a request returns when its context ends.
func (s *Server) Store(client int, direct bool) *Store {
	return &Store{
		server: s, client: client, direct: direct, ended: make(chan struct{}), hung: make(chan struct{}),
		subscriptions: subscriptions{subs: make(map[string]*subscription)},
	}
}

func (s *Store) request(kind Kind, key string) Request {
	return Request{Client: s.client, Nth: s.sent.Add(1), Kind: kind, Key: key}
}

// Sent counts what went over the network, to the client and from it.
func (s *Store) Sent() int64 { return int64(s.sent.Load()) }

// Start implements [store.Store].
func (s *Store) Start(host store.Host) { s.host = host }

// Name implements [store.Store].
func (s *Store) Name() string { return "the store in memory" }

// Node implements [store.Store]. There is one.
func (s *Store) Node(string) string { return "memory" }

// Serves implements [store.Store].
func (s *Store) Serves(string) bool { return true }

// Ready implements [store.Store].
func (s *Store) Ready(context.Context, time.Duration) error { return nil }

// Late implements [store.Store].
func (s *Store) Late(key string, late store.Late) time.Duration {
	return s.clocks.Left(s.Node(key), s.host.Clock.Now(), int64(late))
}

// Instant implements [store.Store]. It is a time of the server's clock, in µs.
func (s *Store) Instant(key string, in time.Duration) int64 {
	return s.clocks.Latest(s.Node(key), s.host.Clock.Now()) + in.Microseconds()
}

// Within implements [store.Store].
func (s *Store) Within(ctx context.Context, limit time.Duration) context.Context {
	return &deadline{ctx, time.Now().Add(limit)}
}

// WithinAll implements [store.Store].
func (s *Store) WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	return s.Within(ctx, min(limit, all))
}

// deadline is a context with a deadline of its own, which does not end by itself: requests look at it.
type deadline struct {
	context.Context
	at time.Time
}

func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Direct implements [store.Store].
func (s *Store) Direct() bool { return s.direct }

// Replaceable implements [store.Store].
func (s *Store) Replaceable() bool { return false }

// Slot implements [store.Store]: one request serves all keys.
func (s *Store) Slot(string) int { return 0 }

// End implements [store.Store].
func (s *Store) End() { close(s.ended) }

// HangUp implements [store.Store].
func (s *Store) HangUp() { close(s.hung) }

// Wait implements [store.Store].
func (s *Store) Wait() {
	s.own.Wait()
	s.late.stop()
	s.unsubscribeAll()
}
