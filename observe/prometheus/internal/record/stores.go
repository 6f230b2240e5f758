package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/zklock"
)

// store is where locks are kept, with the name that it has in the metrics.
type store struct {
	name  string
	start func(testing.TB) server
}

var stores = []store{
	{string(rlock.Store), startRedis},
	{string(pglock.Store), startPostgres},
	{string(etcdlock.Store), startEtcd},
	{string(zklock.Store), startZooKeeper},
}

// server is one server of a store.
type server struct {
	addr                        string
	path                        *tcpproxy.Proxy // another way to it
	freeze, thaw, stop, restart func()
	// connect makes the locks of one program, which reaches the server at an address. What they are made of is closed
	// after them.
	connect func(addr string, o *lock.Observer) (all locks, close func() error, err error)
}

// locks are the locks of one program.
type locks interface {
	lock.Provider
	Stats() lock.Stats
	Close() error
}

func startRedis(t testing.TB) server {
	s := redistest.Start(t)
	connect := func(addr string, o *lock.Observer) (locks, func() error, error) {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		all, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: o})
		return all, rdb.Close, err
	}
	return server{
		addr: s.Addr(), freeze: s.Stop, thaw: s.Continue, stop: s.Kill, restart: s.Restart, connect: connect,
	}
}

func startPostgres(t testing.TB) server {
	s := pgtest.Start(t)
	connect := func(addr string, o *lock.Observer) (locks, func() error, error) {
		pool, err := pgxpool.New(context.Background(), strings.Replace(s.URL(), s.Addr(), addr, 1))
		if err != nil {
			return nil, nil, err
		}
		all, err := pglock.NewClient(pool, &pglock.Options{Observer: o})
		err = errors.Join(err, pglock.Migrate(context.Background(), pool, ""))
		return all, func() error { pool.Close(); return nil }, err
	}
	return server{
		addr: s.Addr(), freeze: s.Freeze, thaw: s.Thaw, stop: s.Shutdown, restart: s.Restart, connect: connect,
	}
}

func startEtcd(t testing.TB) server {
	s := etcdtest.Start(t)
	connect := func(addr string, o *lock.Observer) (locks, func() error, error) {
		cli, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + addr}, Logger: zap.NewNop()})
		if err != nil {
			return nil, nil, err
		}
		all, err := etcdlock.NewClient(cli, &etcdlock.Options{Observer: o})
		return all, cli.Close, err
	}
	return server{addr: s.Addr(), freeze: s.Freeze, thaw: s.Thaw, stop: s.Kill, restart: s.Restart, connect: connect}
}

func startZooKeeper(t testing.TB) server {
	s := zktest.Start(t, zktest.Options{})
	connect := func(addr string, o *lock.Observer) (locks, func() error, error) {
		all, err := zklock.NewClient([]string{addr}, &zklock.Options{Observer: o})
		return all, func() error { return nil }, err
	}
	return server{addr: s.Addr(), freeze: s.Freeze, thaw: s.Resume, stop: s.Kill, restart: s.Restart, connect: connect}
}
