package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Name is what errors and logs call the store.
const Name = "etcd"

const node = "etcd"

// Store keeps locks in etcd. It implements [store.Store].
type Store struct {
	cli   *clientv3.Client
	lease time.Duration // of the client, and so of all its holds; whole seconds
	own   string        // prefix of the keys that are no lock's
	host  store.Host

	sessions sessions
	hub      hub

	life   context.Context // until HangUp
	hangUp context.CancelFunc

	mu      sync.Mutex // guards what is below
	checked bool       // the servers' versions
	base    int64      // tokens are above it; 0: it is not known yet
}

var _ store.Store = (*Store)(nil)

// New returns a store over a client of etcd, which it does not close. Own is the prefix of the keys that are no lock's.
func New(cli *clientv3.Client, lease time.Duration, own string) *Store {
	s := &Store{cli: cli, lease: lease, own: own, sessions: sessions{making: make(chan struct{}, 1)}}
	s.life, s.hangUp = context.WithCancel(context.Background())
	s.hub.init(s)
	return s
}

// Start implements [store.Store].
func (s *Store) Start(host store.Host) { s.host = host }

// Name implements [store.Store].
func (s *Store) Name() string { return Name }

// Node implements [store.Store]: those who agree are one.
func (s *Store) Node(string) string { return node }

// Direct implements [store.Store].
func (s *Store) Direct() bool { return false }

// Replaceable implements [store.Store]: what etcd confirmed, a majority has.
func (s *Store) Replaceable() bool { return false }

// Slot implements [store.Store].
func (s *Store) Slot(string) int { return 0 }

// copies says that copies of a request may come. Nothing of etcd says until when: the id is sealed by its release.
const copies store.Late = 1

// Late implements [store.Store]. If etcd does not answer for as long as a lease, the client's lease is over, and a copy
// is refused.
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

// begin returns the context of a request that is sent now. A server that knows no leader refuses it at once, and would
// hold it up otherwise, so that the next attempt can ask another server.
func (s *Store) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	sent, cancel, err := s.bound(ctx)
	if err != nil {
		return nil, nil, err
	}
	return clientv3.WithRequireLeader(sent), cancel, nil
}

// bound returns a context that ends with the time of a request, or with the store.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc, error) {
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

// txn sends a transaction.
func (s *Store) txn(
	ctx context.Context, name string, calls int, cond []clientv3.Cmp, then, otherwise []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	began := s.host.Clock.Now()
	reply, err := s.cli.Txn(ctx).If(cond...).Then(then...).Else(otherwise...).Commit()
	s.command(name, calls, began, err)
	if leaseless(err) {
		return nil, err
	}
	return reply, meaning(err)
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

// Wait implements [store.Store]. It ends the client's lease: what could not be released goes with it.
func (s *Store) Wait() {
	s.hangUp()
	s.hub.close()
	ctx, cancel := context.WithTimeout(context.Background(), min(s.host.Limit, time.Second))
	defer cancel()
	_ = s.revoke(ctx) // without an answer the lease ends by itself
}

// Ready implements [store.Store]: once, the versions of the servers are looked at, and the base of tokens is read.
func (s *Store) Ready(ctx context.Context, limit time.Duration) error {
	s.mu.Lock()
	checked, based := s.checked, s.base != 0
	s.mu.Unlock()
	if checked && based {
		return nil
	}
	sent, cancel, err := s.begin(s.Within(ctx, limit))
	if err != nil {
		return err
	}
	defer cancel()
	if !checked {
		if err := s.checkVersions(sent); err != nil {
			return err
		}
	}
	base, err := s.readBase(sent)
	if err != nil {
		return notSent(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked, s.base = true, base
	return nil
}

func (s *Store) baseKey() string { return s.own + "base" }

// readBase reads the base of tokens, and sets it if there is none: the time in microseconds, as other stores' tokens
// are. So tokens do not fall when a program moves to etcd, whose revisions are small numbers.
func (s *Store) readBase(ctx context.Context) (int64, error) {
	key, now := s.baseKey(), strconv.FormatInt(time.Now().UnixMicro(), 10)
	reply, err := s.cli.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, now), clientv3.OpGet(key)).
		Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return 0, meaning(err)
	}
	found := reply.Responses[len(reply.Responses)-1].GetResponseRange().Kvs
	if len(found) == 0 {
		err := errors.New("the base of tokens was deleted meanwhile")
		return 0, &store.Failure{Fault: store.FaultTransient, Err: err}
	}
	base, err := strconv.ParseInt(string(found[0].Value), 10, 64)
	if err != nil || base <= 0 {
		return 0, fmt.Errorf("%w: %q has %q, which is no base of tokens", store.ErrConflict, key, found[0].Value)
	}
	return base, nil
}

// tokensEach is how many tokens a revision has: that many turns of a process can follow one another without a request.
const tokensEach = 1024

// Fence is the newest token of a key that was made at a revision.
func (s *Store) Fence(revision int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base + revision*tokensEach + tokensEach - 1
}

// Renew implements [store.Store]: one keep-alive for all, and a look at the keys, since a key that was deleted (by an
// operator, or Break) does not come back by it. Many holds come in several calls, of which the first one's keep-alive
// serves all: they stand for as much less as it was sent earlier.
func (s *Store) Renew(ctx context.Context, all []store.Renewal) {
	sent, cancel, err := s.begin(ctx)
	if err == nil {
		defer cancel()
		err = s.renew(sent, all)
	}
	for i := range all {
		if err != nil {
			all[i].Err = err
		}
	}
}

const mostOps = 128 // of one transaction, which is a server's default

func (s *Store) renew(ctx context.Context, all []store.Renewal) error {
	began, now := s.host.Clock.Now(), s.sessions.current()
	if now == nil {
		return gone(all)
	}
	if !s.proven(now) {
		switch err := s.keepAlive(ctx, now); {
		case errors.Is(err, errOver):
			return gone(all)
		case err != nil:
			return err
		}
	}
	since, _ := now.valid()
	for i := range all {
		all[i].TTL -= max(began-since, 0)
	}
	for len(all) > 0 {
		n := min(len(all), mostOps)
		ops := make([]clientv3.Op, n)
		for i := range n {
			ops[i] = clientv3.OpGet(all[i].Proto.(*Lock).keyOf(all[i].ID), clientv3.WithKeysOnly())
		}
		reply, err := s.txn(ctx, "renew", n, nil, ops, nil)
		if err != nil {
			return err
		}
		for i, r := range reply.Responses {
			kvs := r.GetResponseRange().Kvs
			all[i].Err = nil
			if len(kvs) == 0 || clientv3.LeaseID(kvs[0].Lease) != now.id {
				all[i].Err = watchdog.ErrGone
			}
		}
		all = all[n:]
	}
	return nil
}

// gone says that none of the holds stands.
func gone(all []store.Renewal) error {
	for i := range all {
		all[i].Err = watchdog.ErrGone
	}
	return nil
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

// errUnsupported is never seen: package etcdlock does not offer what this store lacks.
var errUnsupported = errors.New("etcd keeps no such thing")

// leap is how much [Store.Rebase] adds: the tokens of a billion revisions.
const leap = int64(1) << 40

// Rebase raises the base of tokens. Clients that have read the old one go on with that.
func (s *Store) Rebase(ctx context.Context) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	old, err := s.readBase(sent)
	if err != nil {
		return err
	}
	next := max(old, time.Now().UnixMicro()) + leap
	reply, err := s.txn(sent, "rebase", 1,
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(s.baseKey()), "=", strconv.FormatInt(old, 10))},
		[]clientv3.Op{clientv3.OpPut(s.baseKey(), strconv.FormatInt(next, 10))}, nil)
	if err == nil && !reply.Succeeded {
		err = errors.New("another call has raised the base of tokens")
		err = &store.Failure{Fault: store.FaultTransient, Answered: true, Err: err}
	}
	if err == nil {
		s.mu.Lock()
		s.base = next
		s.mu.Unlock()
	}
	return err
}
