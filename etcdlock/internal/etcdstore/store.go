package etcdstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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

	routes   routes
	sessions sessions
	pulse    pulse
	watcher  watcher
	hub      hub
	looks    looks
	past     past

	lessOps atomic.Int64 // by how much a transaction must be smaller than usual

	life   context.Context // until HangUp
	hangUp context.CancelFunc

	mu      sync.Mutex // guards what is below
	checked bool       // the servers' versions
	base    int64      // the highest that tokens were above; 0: none is known yet
	newest  int64      // the highest token that was granted
}

var _ store.Store = (*Store)(nil)

// New returns a store over a client of etcd, which it does not close. Own is the prefix of the keys that are no lock's.
func New(cli *clientv3.Client, lease time.Duration, own string) *Store {
	s := &Store{cli: cli, lease: lease, own: own, sessions: sessions{making: make(chan struct{}, 1)}}
	s.life, s.hangUp = context.WithCancel(context.Background())
	s.routes.init(s)
	s.pulse.init(s)
	s.watcher.init(s)
	s.hub.init(s)
	return s
}

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

// answer is that to a transaction. Twice says that a copy of it was sent, which may be carried out as well.
type answer struct {
	*clientv3.TxnResponse
	twice bool
}

// did reports that a transaction which compares what it changes has changed it: its copy may have.
func (a answer) did() bool { return a.Succeeded || a.twice }

// txn sends a transaction.
func (s *Store) txn(
	ctx context.Context, name string, calls int, cond []clientv3.Cmp, then, otherwise []clientv3.Op,
) (answer, error) {
	began := s.host.Clock.Now()
	reply, err := s.commit(ctx, cond, then, otherwise)
	s.command(name, calls, began, err)
	if err == nil || leaseless(err) {
		return reply, err
	}
	err = meaning(err)
	if reply.twice && store.FaultOf(err) == store.FaultTransient { // the other copy may be carried out
		err = &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: err}
	}
	return reply, err
}

// errAnswer is the error of an answer that etcd does not give: whatever gave it, nothing is known of the request.
var errAnswer = errors.New("the answer is not one to the request")

// commit sends a transaction. Its answer has a header, and an answer of the right kind to each operation.
func (s *Store) commit(ctx context.Context, cond []clientv3.Cmp, then, otherwise []clientv3.Op) (answer, error) {
	before := s.past.latest()
	reply, twice, err := ask(ctx, s, func(ctx context.Context, on *route) (*clientv3.TxnResponse, error) {
		return on.kv.Txn(ctx).If(cond...).Then(then...).Else(otherwise...).Commit()
	})
	got := answer{reply, twice}
	if err != nil {
		return got, err
	}
	ops := otherwise
	if reply.Succeeded {
		ops = then
	}
	if reply.Header == nil || len(reply.Responses) != len(ops) {
		return got, errAnswer
	}
	for i, op := range ops {
		if !answers(reply.Responses[i], op) {
			return got, errAnswer
		}
	}
	s.saw(reply.Header, before)
	return got, nil
}

// get reads keys.
func (s *Store) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	got, _, err := ask(ctx, s, func(ctx context.Context, on *route) (*clientv3.GetResponse, error) {
		return on.kv.Get(ctx, key, opts...)
	})
	return got, err
}

// timeToLive asks for the time that a lease has left.
func (s *Store) timeToLive(
	ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption,
) (*clientv3.LeaseTimeToLiveResponse, error) {
	got, _, err := ask(ctx, s, func(ctx context.Context, on *route) (*clientv3.LeaseTimeToLiveResponse, error) {
		return on.lease.TimeToLive(ctx, id, opts...)
	})
	return got, err
}

// answers reports that r is of the kind of an operation.
func answers(r *pb.ResponseOp, op clientv3.Op) bool {
	switch {
	case op.IsGet():
		return r.GetResponseRange() != nil
	case op.IsPut():
		return r.GetResponsePut() != nil
	case op.IsDelete():
		return r.GetResponseDeleteRange() != nil
	}
	return r.GetResponseTxn() != nil
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
	s.watcher.close()
	s.looks.close()
	s.pulse.close()
	ctx, cancel := context.WithTimeout(context.Background(), min(s.host.Limit, time.Second))
	defer cancel()
	_ = s.revoke(ctx) // without an answer the lease ends by itself
	s.routes.close()
}

// Ready implements [store.Store]: once, the versions of the servers are looked at.
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
	if err := s.checkVersions(sent); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checked = true
	return nil
}

// Renew implements [store.Store]: one keep-alive for all, and a look at the keys, since a key that was deleted (by an
// operator, or Break) does not come back by it. Where nothing was written to etcd since the last look, the revision in
// the keep-alive's answer says so, and no look is needed. Many holds come in several calls, of which the first one's
// keep-alive serves all: they stand for as much less as it was sent earlier.
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

// UsualOps is how many operations a transaction may have by a server's default.
const UsualOps = 128

const leastOps = 4 // without which no lock can be taken

// mostOps is how many operations a transaction may have, as far as is known.
func (s *Store) mostOps() int { return UsualOps - int(s.lessOps.Load()) }

// fewer has transactions be half as large, if a server refuses one for its size. It reports whether the next one is
// worth sending.
func (s *Store) fewer(err error) bool {
	most := s.mostOps()
	if !errors.Is(rpctypes.Error(err), rpctypes.ErrTooManyOps) || most <= leastOps {
		return false
	}
	s.lessOps.CompareAndSwap(int64(UsualOps-most), int64(UsualOps-most/2))
	return true
}

// MostOps asks how many operations a server allows in a transaction: as many as are used, or a number below that which
// is found by halves.
func (s *Store) MostOps(ctx context.Context) (int, error) {
	for {
		sent, cancel, err := s.begin(ctx)
		if err != nil {
			return 0, err
		}
		most := s.mostOps()
		_, err = s.txn(sent, "check", 1, nil, slices.Repeat([]clientv3.Op{clientv3.OpGet(s.baseKey())}, most), nil)
		cancel()
		if err == nil || !s.fewer(err) {
			return most, err
		}
	}
}

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
		all[i].TTL -= max(began-s.counts(since, began, all[i].TTL), 0)
	}
	for len(all) > 0 {
		n := min(len(all), s.mostOps())
		err := s.lookAt(ctx, now, all[:n])
		switch {
		case err == nil:
			all = all[n:]
		case !s.fewer(err):
			return err
		}
	}
	return nil
}

// lookAt finds out which of the holds still stand under a session.
func (s *Store) lookAt(ctx context.Context, now *session, all []store.Renewal) error {
	var ops []clientv3.Op
	var asked []*store.Renewal
	latest := s.past.latest()
	for i := range all {
		one, l := &all[i], all[i].Proto.(*Lock)
		if one.Err = nil; now.unchanged(l, one.ID, latest) {
			continue
		}
		one.Err = watchdog.ErrGone
		if key, has := now.keyOf(l, one.ID); has {
			ops, asked = append(ops, clientv3.OpGet(key)), append(asked, one)
		}
	}
	if len(ops) == 0 {
		return nil
	}
	reply, err := s.txn(ctx, "renew", len(ops), nil, ops, nil)
	if err != nil {
		return err
	}
	for i, r := range reply.Responses {
		one, l := asked[i], asked[i].Proto.(*Lock)
		kvs, id := r.GetResponseRange().Kvs, ""
		own := len(kvs) > 0 && clientv3.LeaseID(kvs[0].Lease) == now.id
		if own {
			id, _ = l.idOf(kvs[0])
		}
		if own && id == one.ID {
			one.Err = nil
			now.stood(l, one.ID, reply.Header.Revision)
			continue
		}
		s.left(now, l, one.ID, reply.Header.Revision)
		if !own || now.uses(string(kvs[0].Key), id) {
			continue
		}
		if err := s.deleteStrange(ctx, now, kvs[0]); err != nil {
			return err
		}
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
