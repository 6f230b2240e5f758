package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// siteKinds are the faults of each site. Nothing is forgotten by any of them.
var siteKinds = map[Site][]fault{
	Single:   append(append([]fault{}, pathKinds...), append(anywhere, stops...)...),
	Cluster:  append(append([]fault{{"slot migrated", migrateSlot}}, anywhere...), stops...),
	Sentinel: append([]fault{{"failover", failOver}}, anywhere...),
}

// migrateSlot moves the slot of a name to another node, and pauses while the keys are half here and half there.
func migrateSlot(r *run, random *rand.Rand) int {
	slot := keys.Slot(names[random.IntN(len(names))])
	from := r.cluster.NodeFor(r.t, slot)
	to := (from + 1 + random.IntN(r.cluster.Len()-1)) % r.cluster.Len()
	r.cluster.SetSlotMigrating(r.t, slot, from, to)
	time.Sleep(r.between(random, 0, 5)) // the fault itself
	r.cluster.MoveKeys(r.t, slot, from, to)
	time.Sleep(r.between(random, 0, 5))
	r.cluster.MoveKeys(r.t, slot, from, to) // what was written here since, as keys that were here could be
	r.cluster.FinishSlot(r.t, slot, to)
	return 1
}

// failOver makes the Sentinels promote the replica when it is up to date: the old primary accepts no more writes, and
// is told that it was deposed before it would accept any again. So nothing is forgotten.
func failOver(r *run, _ *rand.Rand) int {
	ctx, old := context.Background(), r.sentinel.Primary(r.t)
	admin := r.admins[0]
	if old != r.servers[0] {
		admin = r.admins[1]
	}
	must := func(what string, err error) {
		if err != nil {
			r.fail(fmt.Errorf("%s: %w", what, err))
		}
	}
	must("CLIENT PAUSE", admin.Do(ctx, "client", "pause", 120_000, "write").Err())
	written := r.offset(old, "master_repl_offset")
	redistest.Eventually(r.t, settle, func() bool {
		return r.offset(r.other(old), "slave_repl_offset") >= written
	}, "the replica does not catch up")
	next := r.promote(old)
	must("REPLICAOF", admin.ReplicaOf(ctx, "127.0.0.1", fmt.Sprint(next.Port())).Err())
	redistest.Eventually(r.t, settle, func() bool {
		return old.Info(r.t, "replication")["master_link_status"] == "up"
	}, "the old primary does not become a replica")
	must("CLIENT UNPAUSE", admin.Do(ctx, "client", "unpause").Err())
	return 1
}

// promote orders a failover, and a second one if the first does not happen: a Sentinel that cannot reach the replica
// in time gives up.
func (r *run) promote(old *redistest.Server) *redistest.Server {
	const patience = 10 * time.Second // more than a Sentinel has
	rdb := redis.NewClient(r.sentinel.Sentinels()[0].Options())
	defer func() { _ = rdb.Close() }()
	var ordered time.Time
	redistest.Eventually(r.t, 6*patience, func() bool {
		if r.sentinel.Primary(r.t) != old {
			return true
		}
		if time.Since(ordered) > patience &&
			rdb.Do(context.Background(), "sentinel", "failover", r.sentinel.Options().MasterName).Err() == nil {
			ordered = time.Now()
		}
		return false
	}, "no failover comes about")
	return r.sentinel.WaitFailover(r.t, old)
}

func (r *run) offset(of *redistest.Server, field string) int64 {
	n, err := strconv.ParseInt(of.Info(r.t, "replication")[field], 10, 64)
	if err != nil {
		r.fail(err)
	}
	return n
}

// other is the one of two servers that is not this one.
func (r *run) other(than *redistest.Server) *redistest.Server {
	if r.servers[0] == than {
		return r.servers[1]
	}
	return r.servers[0]
}
