package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// memberKinds are faults of servers of etcd, after which those that are left agree on the next leader.
var memberKinds = []fault{
	{"leader stopped briefly", onMember((*etcdGround).leader, 1, 2, (*etcdGround).freeze)},
	{"follower stopped", onMember((*etcdGround).follower, 3, 16, (*etcdGround).freeze)},
	{"leader killed", onMember((*etcdGround).leader, 0, 12, (*etcdGround).kill)},
	{"follower killed", onMember((*etcdGround).follower, 0, 12, (*etcdGround).kill)},
	{"leader cut off from the others", onMember((*etcdGround).leader, 3, 16, (*etcdGround).cut)},
	{"follower cut off from the others", onMember((*etcdGround).follower, 3, 16, (*etcdGround).cut)},
	{"leader cut off from all", cutOffLeader},
	{"leader replaced", replaceLeader},
	{"two of three stopped", stopMajority},
	{"all servers killed", killAll},
	{"client cut off from one server", cutOffFromOne},
}

// thawedKinds are those after which a leader may end leases that the next one has renewed.
var thawedKinds = []fault{{"leader stopped past the lease", thawLeader}}

// historyKinds are what an operator does to the history that etcd keeps, in which watches begin, and to the queue.
var historyKinds = []fault{
	{"history compacted", compacts(false)},
	{"history compacted, databases defragmented", compacts(true)},
	{"waiter's key deleted", deleteWaiter},
}

// onMember has one server meet a fault, which ends after from to to tenths of a lease.
func onMember(
	which func(*etcdGround, *rand.Rand) int, from, to int, set func(g *etcdGround, member int, on bool),
) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		member := which(r.etcd(), random)
		set(r.etcd(), member, true)
		time.Sleep(r.between(random, from, to)) // the fault itself
		set(r.etcd(), member, false)
		return 1
	}
}

func (g *etcdGround) leader(*rand.Rand) int { return g.Leader(g.lab) }

func (g *etcdGround) follower(random *rand.Rand) int {
	return (g.Leader(g.lab) + 1 + random.IntN(len(g.Members)-1)) % len(g.Members)
}

func (g *etcdGround) freeze(member int, on bool) {
	if on {
		g.Members[member].Freeze()
	} else {
		g.Members[member].Thaw()
	}
}

func (g *etcdGround) kill(member int, on bool) {
	if on {
		g.Members[member].Kill()
	} else {
		g.Members[member].Restart()
	}
}

// cut lets clients reach the server as before.
func (g *etcdGround) cut(member int, on bool) { g.Cut(member, on) }

// cutOffLeader cuts the leader off from the others and from all clients.
func cutOffLeader(r *run, random *rand.Rand) int {
	return onMember((*etcdGround).leader, 3, 16, func(g *etcdGround, member int, on bool) {
		g.Cut(member, on)
		for _, s := range r.seats {
			s.paths[member].Blackhole(on)
		}
	})(r, random)
}

// thawLeader stops the leader for longer than a lease. It has revoked the leases that had time left, and end when it
// goes on.
func thawLeader(r *run, random *rand.Rand) int {
	g := r.etcd()
	old := g.leader(random)
	g.freeze(old, true)
	time.Sleep(r.between(random, 11, 16)) // the fault itself
	others, err := connectEtcd(slices.Delete(g.Endpoints(), old, old+1))
	if err != nil {
		r.fail(err)
		return 0
	}
	defer func() { _ = others.Close() }()
	const some, moment = 2 * time.Second, time.Second
	standing, from := g.leases(r, others, some), stamp.Now()
	g.freeze(old, false)
	time.Sleep(moment) // in which it learns that there is another leader
	left := g.leases(r, others, 0)
	ended := slices.DeleteFunc(standing, func(lease clientv3.LeaseID) bool { return slices.Contains(left, lease) })
	if revoked := len(ended); revoked > 0 {
		r.report.Revoked += revoked
		r.record.lost(Loss{From: from, Until: stamp.Now()})
	}
	return 1
}

// leases lists those that have some time left.
func (g *etcdGround) leases(r *run, of *clientv3.Client, some time.Duration) (all []clientv3.LeaseID) {
	var found *clientv3.LeaseLeasesResponse
	err := asked(func(ctx context.Context) (err error) {
		found, err = of.Leases(ctx)
		return err
	})
	if err != nil {
		r.fail(err)
		return nil
	}
	ctx, cancel := asking()
	defer cancel()
	for _, lease := range found.Leases {
		left, err := of.TimeToLive(ctx, lease.ID)
		if err == nil && left.TTL >= int64(some/time.Second) {
			all = append(all, lease.ID)
		}
	}
	return all
}

// cutOffFromOne cuts one client off from one server.
func cutOffFromOne(r *run, random *rand.Rand) int {
	path := r.anySeat(random).paths[random.IntN(len(r.etcd().Members))]
	path.Blackhole(true)
	r.lasting(random, 3, 20, func() { path.Blackhole(false) })
	return 1
}

// replaceLeader has the leader hand over to another one, as operators do before they restart it.
func replaceLeader(r *run, random *rand.Rand) int {
	g := r.etcd()
	old, next := g.leader(random), g.follower(random)
	if err := g.moveLeader(old, next); err != nil {
		return 0 // it has changed by itself
	}
	return 1
}

func (g *etcdGround) moveLeader(from, to int) error {
	ctx, cancel := asking()
	defer cancel()
	status, err := g.admin.Status(ctx, g.Members[to].Endpoint())
	if err != nil {
		return err
	}
	leader, err := connectEtcd([]string{g.Members[from].Endpoint()})
	if err != nil {
		return err
	}
	defer func() { _ = leader.Close() }()
	_, err = leader.MoveLeader(ctx, status.Header.MemberId)
	return err
}

// stopMajority stops two servers: nothing can be agreed on.
func stopMajority(r *run, random *rand.Rand) int {
	g := r.etcd()
	spared := random.IntN(len(g.Members))
	for member := range g.Members {
		if member != spared {
			g.freeze(member, true)
		}
	}
	time.Sleep(r.between(random, 3, 16)) // the fault itself
	for member := range g.Members {
		if member != spared {
			g.freeze(member, false)
		}
	}
	return 1
}

// killAll kills all servers. What they had agreed on is there when they are started again.
func killAll(r *run, random *rand.Rand) int {
	for _, member := range r.etcd().Members {
		member.Kill()
	}
	time.Sleep(r.between(random, 0, 8)) // the fault itself
	var starting sync.WaitGroup
	for _, member := range r.etcd().Members { // none is well alone
		starting.Go(member.Restart)
	}
	starting.Wait()
	return 1
}

// compacts compacts a few times, and perhaps has the servers rewrite their databases, one after the other: a server
// answers nothing meanwhile.
func compacts(defragment bool) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		g := r.etcd()
		for range 1 + random.IntN(6) {
			if err := g.compact(); err != nil {
				r.fail(err)
				return 0
			}
			time.Sleep(r.between(random, 0, 1))
		}
		for i := 0; defragment && i < len(g.Members); i++ {
			if err := g.defragment(g.Members[i]); err != nil {
				r.fail(err)
				return 0
			}
		}
		return 1
	}
}

// deleteWaiter deletes the key of one who waits, while another has the lock: its caller asks again, and comes last.
func deleteWaiter(r *run, random *rand.Rand) int {
	name := names[random.IntN(len(names))]
	var got *clientv3.GetResponse
	err := asked(func(ctx context.Context) (err error) {
		got, err = r.etcd().admin.Get(ctx, name+"/", clientv3.WithPrefix(), clientv3.WithKeysOnly(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
		return err
	})
	if err != nil {
		r.fail(err)
		return 0
	}
	if len(got.Kvs) < 2 {
		return 0
	}
	which := 1 + random.IntN(len(got.Kvs)-1)
	var stand []clientv3.Cmp
	for _, kv := range []*mvccpb.KeyValue{got.Kvs[0], got.Kvs[which]} {
		stand = append(stand, clientv3.Compare(clientv3.CreateRevision(string(kv.Key)), "=", kv.CreateRevision))
	}
	ctx, cancel := asking()
	defer cancel()
	done, err := r.etcd().admin.Txn(ctx).If(stand...).Then(clientv3.OpDelete(string(got.Kvs[which].Key))).Commit()
	switch {
	case unserved(err): // another time
		return 0
	case err != nil:
		r.fail(err)
		return 0
	case !done.Succeeded: // one of them left meanwhile
		return 0
	}
	return 1
}

// compact has etcd forget what was before. A cluster of which a member has just come back may take longer than a
// request has, so it is asked again.
func (g *etcdGround) compact() error {
	var err error
	for range 6 {
		if err = g.compactOnce(); err == nil || errors.Is(err, rpctypes.ErrCompacted) { // nothing has happened since
			return nil
		}
	}
	return fmt.Errorf("compact: %w", err)
}

func (g *etcdGround) compactOnce() error {
	ctx, cancel := asking()
	defer cancel()
	now, err := g.admin.Get(ctx, lockPrefix)
	if err != nil {
		return err
	}
	_, err = g.admin.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	return err
}

func (g *etcdGround) defragment(member *etcdtest.Server) error {
	ctx, cancel := asking()
	defer cancel()
	if _, err := g.admin.Defragment(ctx, member.Endpoint()); err != nil {
		return fmt.Errorf("defragment: %w", err)
	}
	return nil
}
