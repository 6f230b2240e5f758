package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/pglock"
)

// place is the server of a cell, with what faults do to it.
type place struct {
	version         string        // of the server
	addr            func() string // of the server that takes writes
	freeze, thaw    func()
	crash, restart  func()
	prepare, detach func()        // before a failover: make a replica that has everything; cut it off
	other           func() string // the address of a server that agrees with it
	promote         func()
	step            func(time.Duration) // sets the server's clock forward, or back

	primary   string // its name among the Sentinels
	sentinels []string
}

// site is what a process is told of the place that has a path of its own.
func (p *place) site(path *tcpproxy.Proxy) site {
	return site{Addr: path.Addr(), Primary: p.primary, Sentinels: p.sentinels}
}

func newPlace(t testing.TB, e entry, f fault) *place {
	switch e.store {
	case onPostgres:
		return postgresPlace(t)
	case onEtcd:
		server := etcdtest.Start(t)
		number, err := etcdtest.Version()
		must(t, "etcd", err)
		return &place{
			version: "etcd " + number,
			addr:    server.Addr, freeze: server.Freeze, thaw: server.Thaw, crash: server.Kill, restart: server.Restart,
		}
	}
	if e.store == onZooKeeper {
		if f.layout == agreeing {
			return ensemblePlace(t)
		}
		return zooKeeperPlace(t)
	}
	if f.layout == watched {
		return watchedPlace(t)
	}
	p, primary := redisPlace(t, f)
	if f.layout == replicated || strings.Contains(e.name, "MinReplicas") {
		p.copied(t, primary)
	}
	return p
}

func zooKeeperPlace(t testing.TB) *place {
	server := zktest.Start(t, zktest.Options{})
	number, err := zktest.Version()
	must(t, "ZooKeeper", err)
	return &place{
		version: "ZooKeeper " + number,
		addr:    server.Addr, freeze: server.Freeze, thaw: server.Resume, crash: server.Kill, restart: server.Restart,
	}
}

// ensemblePlace is a server that agrees with two others, of which one is the leader. They count in ticks as those do
// that have ZooKeeper's own example of a configuration.
func ensemblePlace(t testing.TB) *place {
	ensemble := zktest.StartEnsemble(t, 3, zktest.Options{Tick: 2 * time.Second, Config: []string{"syncLimit=5"}})
	number, err := zktest.Version()
	must(t, "ZooKeeper", err)
	leader, follower := ensemble.Leader(t), ensemble.Follower(t)
	return &place{
		version: "ZooKeeper " + number,
		addr:    ensemble.Members[follower].Addr, other: ensemble.Members[leader].Addr,
		detach: func() { ensemble.Cut(follower, true) },
		prepare: func() {
			ensemble.Cut(follower, false)
			ensemble.Members[follower].Serves(t)
		},
	}
}

func postgresPlace(t testing.TB) *place {
	server := pgtest.Start(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.URL())
	must(t, "connect", err)
	must(t, "migration", pglock.Migrate(ctx, conn, ""))
	must(t, "close", conn.Close(ctx))
	must(t, "the peer's table", createTable(server.Addr()))
	version, _, _ := strings.Cut(server.Run(t, "SHOW server_version"), " ")
	return &place{
		version: "PostgreSQL " + version,
		addr:    server.Addr, freeze: server.Freeze, thaw: server.Thaw, crash: server.Crash, restart: server.Restart,
	}
}

// redisPlace starts a Redis that has its writes on the disk before it answers, or keeps nothing there.
func redisPlace(t testing.TB, f fault) (*place, *redistest.Server) {
	var opts []redistest.Option
	if f.durable {
		opts = append(opts, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	}
	var primary *redistest.Server
	var step func(time.Duration)
	if f.layout == clocked {
		var clock *redistest.Clock
		var ahead time.Duration
		primary, clock = redistest.StartWithClock(t, opts...)
		step = func(by time.Duration) {
			ahead += by
			clock.Ahead(ahead)
		}
	} else {
		primary = redistest.Start(t, opts...)
	}
	return &place{
		version: "Redis " + primary.Info(t, "server")["redis_version"],
		addr:    primary.Addr, freeze: primary.Stop, thaw: primary.Continue,
		crash: primary.Kill, restart: primary.Restart, step: step,
	}, primary
}

// copied gives the Redis of a place a replica.
func (p *place) copied(t testing.TB, primary *redistest.Server) {
	var replica *redistest.Server
	var link *tcpproxy.Proxy // between the two
	p.addr = func() string { return primary.Addr() }
	p.prepare = func() {
		replica = redistest.Start(t)
		link = follow(t, replica, primary)
	}
	p.prepare()
	p.detach = func() { detach(t, replica, link.Blackhole) }
	p.promote = func() {
		primary.Kill()
		command(t, replica, "REPLICAOF", "NO", "ONE")
		primary = replica
	}
}

// follow makes a server a replica of another one, over a path, and waits until it has everything.
func follow(t testing.TB, replica, primary *redistest.Server) *tcpproxy.Proxy {
	link := tcpproxy.Start(t, primary.Addr())
	host, port, _ := strings.Cut(link.Addr(), ":")
	command(t, replica, "REPLICAOF", host, port)
	servers.Eventually(t, patience, func() bool {
		info := replica.Info(t, "replication")
		return info["master_port"] == port && info["master_link_status"] == "up"
	}, "the replica does not come up")
	return link
}

// detach cuts off a replica at a moment at which it does not have the lock.
func detach(t testing.TB, replica *redistest.Server, cut func(bool)) {
	servers.Eventually(t, patience, func() bool {
		cut(true)
		if free(replica.Keys(t)) {
			return true
		}
		cut(false)
		return false
	}, "the lock is never free on the replica")
}

// free reports whether the lock is not among these keys: a replica that was cut off while it was held would keep it
// until its lease ends.
func free(keys []string) bool {
	return !slices.Contains(keys, lockName) && !slices.Contains(keys, "rueidislock:0:"+lockName)
}

func command(t testing.TB, server *redistest.Server, args ...any) {
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	must(t, fmt.Sprint(args...), rdb.Do(context.Background(), args...).Err())
}

func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
