package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// Lock is the protocol of the lock of one name, which is fair: the caller that came first has it. It is constant.
//
// Each that wants it has a key below the name, and the one whose key was made first holds it. That is how etcd's own
// locks do it (package concurrency, etcdctl lock), so they contend with this one.
type Lock struct {
	store  *Store
	name   string
	prefix string
	traits *store.Traits
}

var (
	_ store.Protocol = (*Lock)(nil)
	_ store.Noter    = (*Lock)(nil)
)

// Lock returns the protocol of a name.
func (s *Store) Lock(name string) *Lock {
	return &Lock{store: s, name: name, prefix: name + "/", traits: s.traits()}
}

// LeastLease leaves a renewal the time of an election.
const LeastLease = 5 * time.Second

// BadLease is the error of an option with a lease that etcd cannot keep; nil if it can.
func BadLease(option string, lease time.Duration) error {
	if lease >= LeastLease && lease%time.Second == 0 {
		return nil
	}
	return &lock.ArgumentError{Name: option, Value: lease, Problem: "must be whole seconds, and at least 5s"}
}

// traits are those of every lock of the store.
func (s *Store) traits() *store.Traits {
	return &store.Traits{
		Kind: string(lock.KindLock), Passes: true, Marks: true, Notes: true, Lasts: true,
		Stays: &lock.ArgumentError{
			Name: "lock", Problem: "cannot be exported: on etcd a hold hangs on its client's lease",
		},
		CheckLease: func(option string, lease time.Duration) error {
			if err := BadLease(option, lease); err != nil {
				return err
			}
			if lease > s.lease {
				return &lock.ArgumentError{Name: option, Value: lease, Problem: fmt.Sprintf(
					"must not be longer than Options.Lease, which is %v and that of all locks of the client", s.lease)}
			}
			return nil
		},
	}
}

// Name implements [store.Rules].
func (l *Lock) Name() string { return l.name }

// Key implements [store.Rules].
func (l *Lock) Key() string { return l.name }

// Mode implements [store.Rules].
func (l *Lock) Mode() string { return "" }

// Channel implements [store.Rules].
func (l *Lock) Channel() string { return l.name }

// Excludes implements [store.Rules].
func (l *Lock) Excludes(string) bool { return true }

// Follows implements [store.Rules].
func (l *Lock) Follows(string) bool { return true }

// Inherits implements [store.Rules].
func (l *Lock) Inherits(string) bool { return true }

// Traits implements [store.Rules].
func (l *Lock) Traits() *store.Traits { return l.traits }

// Levels implements [store.Protocol]. It is not called: a count would cost a write, and nothing depends on it.
func (l *Lock) Levels(context.Context, string, int64, int64) (int64, error) {
	return 0, &store.Refused{Err: errUnsupported}
}

// Change implements [store.Protocol].
func (l *Lock) Change(context.Context, store.Change, store.Ask) (store.ChangeReply, store.Receipt, error) {
	return store.ChangeReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Enqueue implements [store.Protocol]. A waiter has its place by asking.
func (l *Lock) Enqueue(context.Context, []store.Ask) (store.EnqueueReply, store.Receipt, error) {
	return store.EnqueueReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Settled implements [store.Protocol].
func (l *Lock) Settled(string, store.Late) {}

// Serving implements [store.Protocol].
func (l *Lock) Serving([]string) store.Protocol { return l }

// Retaining implements [store.Protocol].
func (l *Lock) Retaining(int64, time.Duration, string) store.Protocol { return l }

// Acquire implements [store.Protocol].
//
// A transaction puts the key, if it is not there and no seal was written since, and reads who is first. A caller that
// has to wait reads which key is before its own. It has its key from then on, and only reads: that needs no agreement
// on a write. A try puts its key only if nobody has any, so that it leaves nothing. The keep-alive that proves the
// lease goes beside it, if the last one was some time ago.
func (l *Lock) Acquire(
	ctx context.Context, ask *store.Ask,
) (reply store.AcquireReply, receipt store.Receipt, err error) {
	s := l.store
	sent, cancel, err := s.begin(s.Within(ctx, ask.Within))
	if err != nil {
		return reply, receipt, err
	}
	defer cancel()
	reply, receipt, err = l.acquire(sent, ask)
	if !errors.Is(err, errOver) {
		return reply, receipt, err
	}
	// A new lease replaces the old one, which is over. If none can be made, what was done under the old one may stand.
	doubt, before := receipt, err
	if reply, receipt, err = l.acquire(sent, ask); err != nil && doubt.Late > 0 && receipt.Late == 0 {
		return reply, doubt, before
	}
	return reply, receipt, err
}

func (l *Lock) acquire(
	sent context.Context, ask *store.Ask,
) (reply store.AcquireReply, receipt store.Receipt, err error) {
	s, began := l.store, l.store.host.Clock.Now()
	now, err := s.session(sent)
	if err != nil {
		return reply, receipt, err
	}
	var beside sync.WaitGroup
	var proved error
	if !s.proven(now) {
		beside.Go(func() { proved = s.keepAlive(sent, now) })
	}
	found, err := l.stand(sent, now, ask)
	beside.Wait()
	since, ok := now.valid()
	receipt = store.Receipt{Since: s.counts(since, began, ask.Lease), Late: copies}
	switch {
	case leaseless(err): // a copy is refused as well
		s.ended(now)
		return reply, store.Receipt{}, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	case err != nil:
		return reply, receipt, err
	case !ok: // by this client's clock: in etcd the key may stand until the lease is revoked
		s.tell(now)
		return reply, receipt, &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: errOver}
	}
	if err = proved; err == nil {
		reply, err = l.answer(sent, found, now, ask)
	}
	if found.own != nil {
		err = l.unproven(sent, ask.ID, err)
	}
	return reply, receipt, err
}

// unproven is what an error means that came after a transaction had put a key, or found it there. Whatever the error's
// own request did, the key may stand, and nothing but a release ends it, since the client's lease is renewed. So the
// acquisition is in doubt; where no repetition helps, the key is taken away at once: it is no hold, and must not stand
// in the way of others. Only where the lease has ended there is no key.
func (l *Lock) unproven(ctx context.Context, id string, err error) error {
	if kind := store.FaultOf(err); kind == store.FaultConflict || kind == store.FaultDefinite {
		_, failed := l.Release(ctx, id)
		if failed == nil {
			return err
		}
		err = failed
	}
	if store.FaultOf(err) != store.FaultTransient || errors.Is(err, errOver) {
		return err
	}
	return &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: err}
}

// standing is what a transaction found of the keys of a name.
type standing struct {
	own    *mvccpb.KeyValue // nil: it is not there
	first  *mvccpb.KeyValue // nil: there is none
	before *mvccpb.KeyValue // the last before its own; nil: there is none, or it has no own
	base   *mvccpb.KeyValue // of tokens; nil: there is none
	at     int64            // the revision
	sealed int64            // the revision of the session's seal; 0: there is none, or it was not looked at
	twice  bool             // a copy of the request that puts the key was sent
}

// isFirst reports that the own key is there, and has the lock.
func (f *standing) isFirst() bool {
	return f.own != nil && f.first != nil && f.own.CreateRevision == f.first.CreateRevision
}

// stand takes a place, if there is none yet, and finds out which one it is.
func (l *Lock) stand(ctx context.Context, now *session, ask *store.Ask) (standing, error) {
	s := l.store
	at := s.past.latest() // before the id has its key, and so before any release of it
	key, n := now.take(l, ask.ID, at)
	found, err := l.standAt(ctx, now, key, at, ask)
	twice := found.twice
	for range 2 {
		if !found.refused(at, ask) || !now.renames(l, n, ask.ID, found.at) {
			break
		}
		at = found.at
		found, err = l.standAt(ctx, now, key, at, ask)
		twice = twice || found.twice
	}
	if found.refused(at, ask) {
		err = &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errSealed}
	}
	has := l.has(found)
	if now.landed(l, n, ask.ID, has, found.at, twice, err) {
		_ = s.deleteStrange(ctx, now, found.own) // the next attempt has another key
	}
	if has != "" && has != ask.ID {
		return standing{}, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errTaken}
	}
	return found, err
}

// refused reports that an acquisition which named a revision did nothing because the seal was written later.
func (f *standing) refused(at int64, ask *store.Ask) bool {
	return f.sealed > at && f.own == nil && !(ask.Once && f.first != nil)
}

// has is the id that has the key which was looked at; "": there is no key.
func (l *Lock) has(found standing) string {
	if found.own == nil {
		return ""
	}
	id, _ := l.idOf(found.own)
	return id
}

// standAt is stand at a key, for a request that names a revision. The caller of a free lock is the first, and needs one
// request.
func (l *Lock) standAt(
	ctx context.Context, now *session, key string, at int64, ask *store.Ask,
) (standing, error) {
	s := l.store
	if made := s.hub.place(l.name, ask.ID); made > 0 { // its key is there, most likely: to look at it is no write
		found, err := l.look(ctx, key, made)
		if err != nil || found.own != nil {
			return found, err
		}
	}
	value := valueOf(ask.ID, nil)
	cond := []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(key), "=", 0),
		s.unsealed(now, at),
	}
	if ask.Once {
		cond = append(cond, clientv3.Compare(clientv3.CreateRevision(l.prefix).WithPrefix(), "=", 0))
	}
	first, base := clientv3.OpGet(l.prefix, clientv3.WithFirstCreate()...), clientv3.OpGet(s.baseKey())
	put := []clientv3.Op{clientv3.OpPut(key, value, clientv3.WithLease(now.id)), first, base}
	reply, err := s.txn(ctx, "acquire", 1, cond, put,
		[]clientv3.Op{clientv3.OpGet(key), first, base, clientv3.OpGet(s.sealKey(now))})
	if err != nil {
		return standing{twice: reply.twice}, err
	}
	all := reply.Responses
	found := standing{first: one(all[1]), base: one(all[2]), at: reply.Header.Revision, twice: reply.twice}
	if reply.Succeeded {
		found.own = &mvccpb.KeyValue{
			Key: []byte(key), Value: []byte(value), CreateRevision: found.at, Lease: int64(now.id),
		}
	} else {
		found.own, found.sealed = one(all[0]), sealedAt(one(all[3]))
	}
	if found.own == nil || found.isFirst() {
		return found, nil
	}
	// The place is taken, whatever becomes of this look: without an answer the next one asks again.
	if seen, err := l.look(ctx, key, found.own.CreateRevision); err == nil {
		seen.twice = found.twice
		return seen, nil
	}
	return found, nil
}

// look reads who is first, a key that was made at a revision, and the one before that. Only of the last the key is
// enough: etcd 3.7 does not say the lease of a key that is read without its value (etcd#22209).
func (l *Lock) look(ctx context.Context, key string, made int64) (standing, error) {
	first := clientv3.WithFirstCreate()
	before := append(clientv3.WithLastCreate(), clientv3.WithMaxCreateRev(made-1), clientv3.WithKeysOnly())
	reply, err := l.store.txn(ctx, "poll", 1, nil, []clientv3.Op{
		clientv3.OpGet(key), clientv3.OpGet(l.prefix, first...), clientv3.OpGet(l.prefix, before...),
		clientv3.OpGet(l.store.baseKey()),
	}, nil)
	if err != nil {
		return standing{}, err
	}
	all := reply.Responses
	return standing{
		own: one(all[0]), first: one(all[1]), before: one(all[2]), base: one(all[3]), at: reply.Header.Revision,
	}, nil
}

// one is the key that a read found; nil: none.
func one(r *pb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().Kvs; len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

// answer is what the engine is told of what was found.
func (l *Lock) answer(
	ctx context.Context, found standing, now *session, ask *store.Ask,
) (reply store.AcquireReply, err error) {
	s := l.store
	if err := l.conflict(found.first); err != nil {
		return reply, err
	}
	switch own := found.own; {
	case own != nil && clientv3.LeaseID(own.Lease) != now.id:
		return reply, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errOver}
	case found.isFirst():
		s.hub.arrived(l.name)
		base, err := s.based(ctx, found.base)
		if err != nil {
			return reply, err
		}
		token := fence(base, own.CreateRevision)
		if token == 0 {
			return reply, errGrown
		}
		if !s.holds(now, l, ask.ID, own.CreateRevision) {
			return reply, &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: errOver}
		}
		s.granted(token)
		return store.AcquireReply{Status: store.Held, Fence: token, Spare: tokensEach - 1}, nil
	case own != nil:
		s.hub.behind(l.name, ask.ID, own, found.before, found.at)
	case !ask.Once: // it was deleted meanwhile: nothing is watched
		s.hub.arrived(l.name)
	}
	return store.AcquireReply{Status: store.Busy, PTTL: s.hub.rest(l.name)}, nil
}

// conflict is the error of a first key that is no lock's, and that nothing would ever free. It is nil if there is none.
func (l *Lock) conflict(first *mvccpb.KeyValue) error {
	switch {
	case first == nil:
		return nil
	case strings.Contains(strings.TrimPrefix(string(first.Key), l.prefix), "/"):
		return fmt.Errorf("%w: %q is below lock %q, as if it were the key of a lock of another name; use names of "+
			"which none is a folder of another", store.ErrConflict, first.Key, l.name)
	case first.Lease == 0:
		return fmt.Errorf("%w: %q is below lock %q and has no lease, so it is no lock's, or one that never ends",
			store.ErrConflict, first.Key, l.name)
	}
	return nil
}

// Release implements [store.Protocol].
func (l *Lock) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	s := l.store
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return store.ReleaseReply{}, err
	}
	defer cancel()
	now := s.sessions.standing()
	key, copied, has := s.leaving(now, l, id)
	switch {
	case !has:
		return l.remove(sent, id)
	case copied:
		return l.releaseSealed(sent, id)
	}
	reply, err := s.txn(sent, "release", 1, stands(key, id), []clientv3.Op{clientv3.OpDelete(key)}, nil)
	if err != nil {
		return store.ReleaseReply{}, err
	}
	now.free(l, id, reply.Header.Revision, false)
	return releaseReply(reply.did()), nil
}

// releaseSealed releases an id that a copy of a request may still come for.
func (l *Lock) releaseSealed(ctx context.Context, id string) (store.ReleaseReply, error) {
	one := &store.Parting{Proto: l, ID: id}
	err := l.store.releaseAll(ctx, []*store.Parting{one})
	if err == nil && one.Again > 0 {
		err = &store.Failure{Fault: store.FaultAmbiguous, Answered: true, Err: errSealed}
	}
	return one.Reply, err
}

// removeMost is how many keys of a name are looked at for the id of another client.
const removeMost = 1000

// remove releases an id that has no key in this client's session: that of another client, whose lock is broken, or one
// whose session is over, of which nothing is left.
func (l *Lock) remove(ctx context.Context, id string) (store.ReleaseReply, error) {
	got, err := l.store.get(ctx, l.prefix, append(clientv3.WithFirstCreate(), clientv3.WithLimit(removeMost))...)
	if err != nil {
		return store.ReleaseReply{}, meaning(err)
	}
	for _, kv := range got.Kvs {
		if of, _ := l.idOf(kv); of != id {
			continue
		}
		key := string(kv.Key)
		reply, err := l.store.txn(ctx, "release", 1,
			[]clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", kv.CreateRevision)},
			[]clientv3.Op{clientv3.OpDelete(key)}, nil)
		if err != nil {
			return store.ReleaseReply{}, err
		}
		return releaseReply(reply.did()), nil
	}
	return releaseReply(false), nil
}

func releaseReply(done bool) store.ReleaseReply {
	if !done {
		return store.ReleaseReply{Status: store.Gone}
	}
	return store.ReleaseReply{Status: store.Done}
}

// Inspect implements [store.Protocol]. The first is the holder, and the others wait.
func (l *Lock) Inspect(ctx context.Context) (store.InspectReply, error) {
	reply := store.InspectReply{PTTL: -1}
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return reply, err
	}
	defer cancel()
	got, err := l.store.txn(sent, "inspect", 1, nil, []clientv3.Op{
		clientv3.OpGet(l.prefix, clientv3.WithFirstCreate()...), clientv3.OpGet(l.store.baseKey()),
	}, nil)
	if err != nil {
		return reply, err
	}
	first := one(got.Responses[0])
	if first == nil {
		return reply, nil
	}
	base, err := l.store.based(sent, one(got.Responses[1]))
	if err != nil {
		return reply, err
	}
	reply.Subscribers = got.Responses[0].GetResponseRange().Count - 1
	reply.Fence = fence(base, first.CreateRevision)
	id, _ := l.idOf(first)
	reply.Holders = []store.Holder{{ID: id, Count: 1}}
	if first.Lease == 0 {
		return reply, nil
	}
	left, err := l.store.timeToLive(sent, clientv3.LeaseID(first.Lease))
	if err != nil {
		return store.InspectReply{}, meaning(err)
	}
	reply.PTTL = time.Duration(max(left.TTL, 0)) * time.Second
	return reply, nil
}

var (
	errTaken  = errors.New("the key has another id of this client")
	errSealed = errors.New("the client's seal was written at the same time")
)
