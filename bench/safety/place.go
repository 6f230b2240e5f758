package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/pglock"
)

// place is the server of a cell, with what faults do to it.
type place struct {
	version         string        // of the server
	addr            func() string // of the server that takes writes
	freeze, thaw    func()
	crash, restart  func()
	prepare, detach func() // before a failover: make a replica that has everything; cut it off
	promote         func()
}

func newPlace(t testing.TB, s store, durable, replicated bool) *place {
	switch s {
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
	return redisPlace(t, durable, replicated)
}

func postgresPlace(t testing.TB) *place {
	server := pgtest.Start(t)
	statement, err := pglock.Migration("")
	must(t, "migration", err)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.URL())
	must(t, "connect", err)
	_, err = conn.Exec(ctx, statement)
	must(t, "migration", err)
	must(t, "close", conn.Close(ctx))
	must(t, "the peer's table", createTable(server.Addr()))
	version, _, _ := strings.Cut(server.Run(t, "SHOW server_version"), " ")
	return &place{
		version: "PostgreSQL " + version,
		addr:    server.Addr, freeze: server.Freeze, thaw: server.Thaw, crash: server.Crash, restart: server.Restart,
	}
}

// redisPlace starts a Redis that has its writes on the disk before it answers, or keeps nothing there.
func redisPlace(t testing.TB, durable, replicated bool) *place {
	var opts []redistest.Option
	if durable {
		opts = append(opts, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	}
	primary := redistest.Start(t, opts...)
	p := &place{
		version: "Redis " + primary.Info(t, "server")["redis_version"],
		addr:    func() string { return primary.Addr() }, freeze: primary.Stop, thaw: primary.Continue,
		crash: primary.Kill, restart: primary.Restart,
	}
	if !replicated {
		return p
	}
	var replica *redistest.Server
	var link *tcpproxy.Proxy // between the two
	p.prepare = func() {
		replica, link = redistest.Start(t), tcpproxy.Start(t, primary.Addr())
		host, port, _ := strings.Cut(link.Addr(), ":")
		command(t, replica, "REPLICAOF", host, port)
		servers.Eventually(t, patience, func() bool {
			return replica.Info(t, "replication")["master_link_status"] == "up"
		}, "the replica does not come up")
	}
	p.prepare()
	p.detach = func() {
		servers.Eventually(t, patience, func() bool {
			link.Blackhole(true)
			if free(replica.Keys(t)) {
				return true
			}
			link.Blackhole(false)
			return false
		}, "the lock is never free on the replica")
	}
	p.promote = func() {
		primary.Kill()
		command(t, replica, "REPLICAOF", "NO", "ONE")
		primary = replica
	}
	return p
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
