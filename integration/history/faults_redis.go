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

// connectionKinds are faults of connections to Redis, and of its scripts, on whatever site.
var connectionKinds = []fault{
	{"connections killed", killConnections("normal")},
	{"subscriptions killed", killConnections("pubsub")},
	{"scripts flushed", flushScripts},
}

// stops are faults of a server that is not replaced.
var stops = []fault{
	{"server stopped briefly", stopServer(3, 7)},
	{"server stopped for long", stopServer(11, 16)},
}

func killConnections(kind string) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		killed := 0
		for range 1 + random.IntN(4) {
			for _, admin := range r.redis().admins {
				n, err := admin.ClientKillByFilter(context.Background(), "TYPE", kind).Result()
				if err != nil {
					r.fail(fmt.Errorf("CLIENT KILL: %w", err))
				}
				killed += int(n)
			}
			time.Sleep(r.between(random, 0, 1))
		}
		return min(killed, 1)
	}
}

func flushScripts(r *run, random *rand.Rand) int {
	for range 1 + random.IntN(20) {
		for _, admin := range r.redis().admins {
			if err := admin.ScriptFlush(context.Background()).Err(); err != nil {
				r.fail(fmt.Errorf("SCRIPT FLUSH: %w", err))
			}
		}
		time.Sleep(time.Millisecond)
	}
	return 1
}

// stopServer stops Redis for from to to tenths of a lease. It executes what it received meanwhile when it
// runs again.
func stopServer(from, to int) func(*run, *rand.Rand) int {
	return func(r *run, random *rand.Rand) int {
		server := r.redis().servers[random.IntN(len(r.redis().servers))]
		server.Stop()
		time.Sleep(r.between(random, from, to)) // the fault itself
		server.Continue()
		return 1
	}
}

// restartNode kills one of several independent servers, and starts it again without data. It may come back before all
// holds have ended that it forgot, and has no vote until then.
func restartNode(r *run, random *rand.Rand) int {
	server := r.redis().servers[random.IntN(len(r.redis().servers))]
	server.Kill()
	time.Sleep(r.between(random, 0, 5)) // the fault itself
	server.Restart()
	return 1
}

// migrateSlot moves the slot of a name to another node, and pauses while the keys are half here and half there.
func migrateSlot(r *run, random *rand.Rand) int {
	slot := keys.Slot(names[random.IntN(len(names))])
	from := r.redis().cluster.NodeFor(r.t, slot)
	to := (from + 1 + random.IntN(r.redis().cluster.Len()-1)) % r.redis().cluster.Len()
	r.redis().cluster.SetSlotMigrating(r.t, slot, from, to)
	time.Sleep(r.between(random, 0, 5)) // the fault itself
	r.redis().cluster.MoveKeys(r.t, slot, from, to)
	time.Sleep(r.between(random, 0, 5))
	r.redis().cluster.MoveKeys(r.t, slot, from, to) // what was written here since, as keys that were here could be
	r.redis().cluster.FinishSlot(r.t, slot, to)
	return 1
}

// failOver makes the Sentinels promote the replica when it is up to date: the old primary accepts no more writes, and
// is told that it was deposed before it would accept any again. So nothing is forgotten.
func failOver(r *run, _ *rand.Rand) int {
	ctx, old := context.Background(), r.redis().sentinel.Primary(r.t)
	admin := r.redis().admins[0]
	if old != r.redis().servers[0] {
		admin = r.redis().admins[1]
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
	rdb := redis.NewClient(r.redis().sentinel.Sentinels()[0].Options())
	defer func() { _ = rdb.Close() }()
	var ordered time.Time
	redistest.Eventually(r.t, 6*patience, func() bool {
		if r.redis().sentinel.Primary(r.t) != old {
			return true
		}
		if time.Since(ordered) > patience &&
			rdb.Do(context.Background(), "sentinel", "failover", r.redis().sentinel.Options().MasterName).Err() == nil {
			ordered = time.Now()
		}
		return false
	}, "no failover comes about")
	return r.redis().sentinel.WaitFailover(r.t, old)
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
	if r.redis().servers[0] == than {
		return r.redis().servers[1]
	}
	return r.redis().servers[0]
}
