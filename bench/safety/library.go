package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
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

	onZooKeeper store = "ZooKeeper"
)

// site is where a process finds the server.
type site struct {
	Addr      string   // of the server, or of the path to it
	Primary   string   // its name among Sentinels
	Sentinels []string // their addresses; empty: there are none, and Addr counts
}

// redis makes a client of go-redis, as its documentation shows for each of the two.
func (s site) redis() *redis.Client {
	if len(s.Sentinels) > 0 {
		redis.SetLogger(silence{}) // it logs what Sentinels say
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.Primary, SentinelAddrs: s.Sentinels})
	}
	return redis.NewClient(&redis.Options{Addr: s.Addr})
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// entry is a library in the table.
type entry struct {
	name   string
	module string // whose version is printed
	store  store
	lease  time.Duration
	why    string // the lease, and what else was chosen
	open   func(at site, lease time.Duration) (library, error)
	java   *javaProgram // of a library in Java, which has no open
	kind   string       // of its lock
}

// control is no library: it has to fail.
const control = "control: SET NX, DEL"

var entries = []entry{
	{name: "bsm/redislock", module: "github.com/bsm/redislock", store: onRedis, lease: 30 * time.Second,
		why:  "lease, watchdog and Release as in its README; retries every 100 ms as in its examples",
		open: openRedislock},
	{name: "redsync", module: "github.com/go-redsync/redsync/v4", store: onRedis, lease: 8 * time.Second,
		why:  "defaults, one pool as in its README; Extend every third of the expiry, and Until",
		open: openRedsync},
	{name: "rueidislock", module: "github.com/redis/rueidis", store: onRedis, lease: 5 * time.Second,
		why:  "the options of its README for one Redis, all else by default",
		open: openRueidislock},
	{name: "Redisson RLock", store: onRedis, lease: 30 * time.Second, java: redisson, kind: "lock",
		why: "defaults, so a watchdog of 30 s; lock and unlock in try and finally; in a JVM"},
	{name: "Redisson RFencedLock", store: onRedis, lease: 30 * time.Second, java: redisson, kind: "fenced",
		why: "the same with lockAndGetToken"},
	{name: "cirello.io/pglock", module: "cirello.io/pglock", store: onPostgres, lease: 3 * time.Second,
		why:  "lease and heartbeat as in its README, with Do",
		open: openCirello},
	{name: "etcd concurrency.Mutex", module: "go.etcd.io/etcd/client/v3", store: onEtcd, lease: 10 * time.Second,
		why: "one session per process, a new one when it is done; a TTL of 10 s instead of 60 s, to keep the run" +
			" short",
		open: openMutex},
	{name: "go-zookeeper Lock", module: "github.com/go-zookeeper/zk", store: onZooKeeper, lease: 10 * time.Second,
		why:  "a session of 10 s; a holder takes StateDisconnected and StateExpired for the loss of its lock",
		open: openZooKeeper},
	{name: "Curator InterProcessMutex", store: onZooKeeper, lease: 10 * time.Second, java: curator, kind: "10000",
		why: "a session of 10 s instead of 60 s, to keep the run short; a ConnectionStateListener as its page" +
			" recommends, so a holder takes SUSPENDED and LOST for the loss of its lock; in a JVM"},
	{name: "holdfast rlock", module: ours, store: onRedis, lease: 5 * time.Second,
		why:  "defaults but for the lease; a holder looks at Held, which knows the time",
		open: openRlock(false, 0)},
	{name: "holdfast rlock, context only", module: ours, store: onRedis, lease: 5 * time.Second,
		why:  "as holdfast rlock, but a holder looks only at its context",
		open: openRlock(true, 0)},
	{name: "holdfast rlock, MinReplicas 1", module: ours, store: onRedis, lease: 5 * time.Second,
		why:  "as holdfast rlock, with one replica that has to confirm",
		open: openRlock(false, 1)},
	{name: "holdfast pglock", module: ours, store: onPostgres, lease: 3 * time.Second, why: "as holdfast rlock",
		open: openPglock},
	{name: "holdfast etcdlock", module: ours, store: onEtcd, lease: 10 * time.Second, why: "as holdfast rlock",
		open: openEtcdlock},
	{name: "holdfast zklock", module: ours, store: onZooKeeper, lease: 10 * time.Second, why: "as holdfast rlock",
		open: openZklock},
	{name: control, store: onRedis, lease: 2 * time.Second,
		why:  "a helper that renews nothing and deletes whatever is there: the harness has to catch it",
		open: openControl},
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
