package zkstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// Name is what errors and logs call the store.
const Name = "ZooKeeper"

const node = "zookeeper"

// mostTogether is how many requests are sent together.
const mostTogether = 128

// Config is what a store is made of. It is constant.
type Config struct {
	Servers []string
	Dialer  *wire.Dialer
	Lease   time.Duration // of the sessions, and so of all holds
	Root    string        // the node below which the locks are
	Own     string        // the node below which the base of tokens is
	Auth    []wire.Auth
	ACL     []wire.ACL // of every node
}

// Store keeps locks in ZooKeeper. It implements [store.Store].
type Store struct {
	cfg   Config
	lease time.Duration
	root  string
	host  store.Host

	sessions sessions
	hub      hub
	runs     runs
	tries    tries
	watching atomic.Bool  // a goroutine has nodes of holds watched that get older
	numbers  atomic.Int64 // of connections

	life   context.Context // until HangUp
	hangUp context.CancelFunc

	mu      sync.Mutex // guards what is below
	checked bool       // that the servers restore sessions
	zxid    int64      // the latest change that was seen
	base    int64      // the highest that tokens were above; 0: none is known yet
	newest  int64      // the highest token that was granted
}

var _ store.Store = (*Store)(nil)

// New returns a store.
func New(cfg Config) *Store {
	s := &Store{cfg: cfg, lease: cfg.Lease, root: cfg.Root, sessions: sessions{making: make(chan struct{}, 1)}}
	s.life, s.hangUp = context.WithCancel(context.Background())
	s.hub.init(s)
	return s
}

// firstServer is where a session is made: clients begin with different servers.
func (s *Store) firstServer() int { return rand.IntN(len(s.cfg.Servers)) }

// Start implements [store.Store].
func (s *Store) Start(host store.Host) { s.host = host }

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store]: those who agree are one.
func (s *Store) Node(string) string { return node }

// Serves implements [store.Store].
func (s *Store) Serves(string) bool { return true }

// Direct implements [store.Store].
func (s *Store) Direct() bool { return false }

// Replaceable implements [store.Store]: what ZooKeeper confirmed, a majority has.
func (s *Store) Replaceable() bool { return false }

// Slot implements [store.Store].
func (s *Store) Slot(string) int { return 0 }

// copies says that a request may still be carried out. Nothing says until when: attaching the session settles it.
const copies store.Late = 1

// Late implements [store.Store]. If no server answers for as long as a lease, the session ends.
func (s *Store) Late(_ string, late store.Late) time.Duration {
	if late == 0 {
		return 0
	}
	return s.lease
}

// Instant implements [store.Store]. It is not called: no release retains a lock.
func (s *Store) Instant(string, time.Duration) int64 { return 0 }

// window is a context for a request that, once sent, has until an instant to be answered.
type window struct {
	context.Context
	at time.Time
}

func (w *window) Deadline() (time.Time, bool) { return w.at, true }

type withinAll struct{}

// Within implements [store.Store].
func (s *Store) Within(ctx context.Context, limit time.Duration) context.Context {
	at := time.Now().Add(limit)
	if all, ok := ctx.Value(withinAll{}).(time.Time); ok && all.Before(at) {
		at = all
	}
	return &window{ctx, at}
}

// WithinAll implements [store.Store].
func (s *Store) WithinAll(ctx context.Context, limit, all time.Duration) context.Context {
	return s.Within(context.WithValue(ctx, withinAll{}, time.Now().Add(all)), limit)
}

// begin returns the context of a request that is sent now: it ends with the request's time, or with the store.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if ctx.Err() != nil || s.life.Err() != nil {
		return nil, nil, store.ErrUnsent
	}
	at, ok := ctx.Deadline()
	if !ok {
		at = time.Now().Add(s.host.Limit)
	}
	if time.Until(at) <= 0 {
		return nil, nil, store.ErrLate
	}
	sent, cancel := context.WithDeadline(s.life, at)
	return sent, cancel, nil
}

// command tells observers of a command that was sent at an instant.
func (s *Store) command(name string, calls int, began time.Duration, err error) {
	if s.host.OnCommand != nil {
		s.host.OnCommand(store.Command{Script: name, Calls: calls, Took: s.host.Clock.Now() - began, Err: meaning(err)})
	}
}

// Listen implements [store.Store].
func (s *Store) Listen(channel, key string) store.Ticket { return s.hub.listen(channel, key) }

// Heard implements [store.Store].
func (s *Store) Heard(channel string) store.Heard { return s.hub.heard(channel) }

// Others implements [store.Store]. Nobody is owed a turn: a caller stands behind all that asked before it, so waiters
// have the lock first, and a client that comes back need not hold back for them.
func (s *Store) Others(string, int64) int { return 0 }

// ListenWanted implements [store.Store]: no grant of this store is idle.
func (s *Store) ListenWanted() {}

// End implements [store.Store].
func (s *Store) End() {}

// HangUp implements [store.Store].
func (s *Store) HangUp() { s.hangUp() }

// Wait implements [store.Store]. It ends the client's sessions: what could not be released goes with them.
func (s *Store) Wait() {
	s.hangUp()
	s.hub.close()
	s.runs.close()
	ctx, cancel := context.WithTimeout(context.Background(), min(s.host.Limit, time.Second))
	defer cancel()
	var closing sync.WaitGroup
	for _, n := range s.sessions.all() {
		closing.Go(func() { n.close(ctx) })
	}
	closing.Wait()
	s.cfg.Dialer.Wait()
}

// Ready implements [store.Store]: once, a session is made and attached again. That refuses servers that restore no
// session, grant less than the lease, or are too old.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	s.mu.Lock()
	checked := s.checked
	s.mu.Unlock()
	if checked {
		return nil
	}
	sent, cancel, err := s.begin(s.Within(ctx, limit))
	if err != nil {
		return err
	}
	defer cancel()
	if err := s.check(sent); err != nil {
		return notSent(meaning(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = true
	return nil
}

func (s *Store) check(ctx context.Context) error {
	n, err := s.any(ctx)
	if err != nil {
		return err
	}
	return n.attach(ctx, func() bool { return s.isChecked() })
}

func (s *Store) isChecked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checked
}

// any is a session that is not over, for what is not done under one: it is made if there is none.
func (s *Store) any(ctx context.Context) (*session, error) {
	if n := s.live(); n != nil {
		return n, nil
	}
	select {
	case s.sessions.making <- struct{}{}:
		defer func() { <-s.sessions.making }()
	case <-ctx.Done():
		return nil, wire.ErrUnsent
	}
	if n := s.live(); n != nil {
		return n, nil
	}
	return s.makeSession(ctx)
}

func (s *Store) live() *session {
	for _, n := range s.sessions.all() {
		if _, ok := n.valid(); ok {
			return n
		}
	}
	return nil
}

// asks sends requests that are not of a place, in any session. If that is over, by another one.
func (s *Store) asks(ctx context.Context, name string, reqs ...wire.Request) (replies []wire.Reply, err error) {
	for range 2 {
		var n *session
		if n, err = s.any(ctx); err != nil {
			return nil, notSent(meaning(err))
		}
		if replies, err = n.ask(ctx, name, reqs...); !errors.Is(err, errOver) {
			break
		}
	}
	return replies, err
}

// AcquireAll implements [store.Store]. No lock of this store is taken in sets by one request.
func (s *Store) AcquireAll(
	context.Context, []store.Member, string, store.Timing,
) (store.AcquireAllReply, store.Receipt, error) {
	return store.AcquireAllReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// ReleaseAll implements [store.Store].
func (s *Store) ReleaseAll(context.Context, []*store.Parting) error {
	return &store.Refused{Err: errUnsupported}
}

// errUnsupported is never seen: package zklock does not offer what this store lacks.
var errUnsupported = errors.New("ZooKeeper keeps no such thing")

// runs are what a client does without being asked. Close joins them.
type runs struct {
	mu      sync.Mutex // guards what follows
	closed  bool
	running sync.WaitGroup
}

func (r *runs) run(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.running.Go(f)
	}
}

func (r *runs) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.running.Wait()
}

const moment = time.Second

// soon calls f a moment later.
func (s *Store) soon(f func()) {
	s.runs.run(func() {
		select {
		case <-time.After(moment):
			f()
		case <-s.life.Done():
		}
	})
}
