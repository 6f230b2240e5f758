package main

import (
	"context"
	"time"
)

// library is what one process has of a library.
type library interface {
	// do takes the lock, calls inside while it has it, and gives it back. An error before inside was called is one of
	// acquiring; afterwards it is what the library says of the release.
	do(ctx context.Context, name string, inside func(hold)) error
}

// hold is what a library tells a holder without asking a server.
type hold struct {
	lost  func() bool     // whether it has told that the lock is lost
	done  <-chan struct{} // closed when it tells so; nil: there is nothing to wait for
	token int64           // a number that grows with each hold; 0: the library has none
}

// held is a hold that a context stands for.
func held(ctx context.Context, token int64) hold {
	return hold{lost: func() bool { return ctx.Err() != nil }, done: ctx.Done(), token: token}
}

// store is where a library keeps its locks.
type store string

const (
	onRedis    store = "Redis"
	onPostgres store = "PostgreSQL"
	onEtcd     store = "etcd"
)

// entry is a library in the table.
type entry struct {
	name   string
	module string // whose version is printed
	store  store
	lease  time.Duration
	why    string // the lease, and what else was chosen
	open   func(addr string, lease time.Duration) (library, error)
}

// control is no library: it has to fail.
const control = "control: SET NX, DEL"

var entries = []entry{
	{"bsm/redislock", "github.com/bsm/redislock", onRedis, 30 * time.Second,
		"lease, watchdog and Release as in its README; retries every 100 ms as in its examples", openRedislock},
	{"redsync", "github.com/go-redsync/redsync/v4", onRedis, 8 * time.Second,
		"defaults, one pool as in its README; Extend every third of the expiry, and Until", openRedsync},
	{"rueidislock", "github.com/redis/rueidis", onRedis, 5 * time.Second,
		"the options of its README for one Redis, all else by default", openRueidislock},
	{"cirello.io/pglock", "cirello.io/pglock", onPostgres, 3 * time.Second,
		"lease and heartbeat as in its README, with Do", openCirello},
	{"etcd concurrency.Mutex", "go.etcd.io/etcd/client/v3", onEtcd, 10 * time.Second,
		"one session per process, a new one when it is done; a TTL of 10 s instead of 60 s, to keep the run short",
		openMutex},
	{"holdfast rlock", ours, onRedis, 5 * time.Second,
		"defaults but for the lease; a holder looks at Held, which knows the time", openRlock(false, 0)},
	{"holdfast rlock, context only", ours, onRedis, 5 * time.Second,
		"as holdfast rlock, but a holder looks only at its context", openRlock(true, 0)},
	{"holdfast rlock, MinReplicas 1", ours, onRedis, 5 * time.Second,
		"as holdfast rlock, with one replica that has to confirm", openRlock(false, 1)},
	{"holdfast pglock", ours, onPostgres, 3 * time.Second, "as holdfast rlock", openPglock},
	{"holdfast etcdlock", ours, onEtcd, 10 * time.Second, "as holdfast rlock", openEtcdlock},
	{control, "", onRedis, 2 * time.Second,
		"a helper that renews nothing and deletes whatever is there: the harness has to catch it", openControl},
}

const ours = "github.com/holdfast-go/holdfast"

func entryOf(name string) (entry, bool) {
	for _, e := range entries {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}
