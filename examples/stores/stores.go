package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/zklock"
)

// client is what the client of every store is for this program.
type client interface {
	lock.Provider
	Close() error
}

// site is a store that runs.
type site struct {
	what   string
	client func() (client, error) // one for each process
	close  func() error
}

// open finds or starts a store. This is the one place that knows which stores there are.
func open(ctx context.Context, store string) (*site, error) {
	switch store {
	case "memory":
		return memory()
	case "redis":
		return onRedis(ctx)
	case "postgres":
		return onPostgres(ctx)
	case "etcd":
		return onEtcd(ctx)
	case "zookeeper":
		return onZooKeeper()
	}
	return nil, fmt.Errorf("-store %s: there are memory, redis, postgres, etcd and zookeeper", store)
}

// memory is a Redis-compatible server in this process, for which nothing has to be installed.
func memory() (*site, error) {
	s, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	s.ClockTTL(true) // otherwise no key expires unless a test says so
	return redisSite("this process", "redis://"+s.Addr(), func() error { s.Close(); return nil })
}

func onRedis(ctx context.Context) (*site, error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		return redisSite("the Redis of REDIS_URL", url, nothing)
	}
	s, err := startRedis(ctx)
	if err != nil {
		return nil, err
	}
	return redisSite("a Redis that this program has started", "redis://"+s.addr, s.stop)
}

func redisSite(what, url string, stop func() error) (*site, error) {
	o, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		err = errors.New("REDIS_URL is no URL: special characters of a password are written %XX")
		return nil, errors.Join(err, stop())
	}
	rdb := redis.NewClient(o)
	return &site{
		what:   what,
		client: func() (client, error) { return rlock.NewClient(rdb, nil) },
		close:  func() error { return errors.Join(rdb.Close(), stop()) },
	}, nil
}

func onPostgres(ctx context.Context) (*site, error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		return postgresSite(ctx, "the PostgreSQL of DATABASE_URL", url, nothing)
	}
	s, err := startPostgres(ctx)
	if err != nil {
		return nil, err
	}
	return postgresSite(ctx, "a PostgreSQL that this program has started", s.url(), s.stop)
}

func postgresSite(ctx context.Context, what, url string, stop func() error) (*site, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil { // its text may have the password
		err = errors.New("DATABASE_URL is no URL of a PostgreSQL: special characters of a password are written %XX")
		return nil, errors.Join(err, stop())
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		err = migrate(ctx, pool)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return &site{
		what:   what,
		client: func() (client, error) { return pglock.NewClient(pool, nil) },
		close: func() error {
			pool.Close()
			return stop()
		},
	}, nil
}

// migrate makes the table of locks. A program of yours leaves that to the tool that makes its other tables.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return pglock.Migrate(ctx, pool, "")
}

// onEtcd takes the endpoints as etcdctl does, and a name and password, if they are asked for, apart from these.
func onEtcd(ctx context.Context) (*site, error) {
	if endpoints := os.Getenv("ETCD_ENDPOINTS"); endpoints != "" {
		return etcdSite("the etcd of ETCD_ENDPOINTS", endpoints, nothing)
	}
	s, err := startEtcd(ctx)
	if err != nil {
		return nil, err
	}
	return etcdSite("an etcd that this program has started", "http://"+s.addr, s.stop)
}

func etcdSite(what, endpoints string, stop func() error) (*site, error) {
	if strings.Contains(endpoints, "@") { // errors and logs have the endpoints
		return nil, errors.New("ETCD_ENDPOINTS must have no password: set ETCD_USERNAME and ETCD_PASSWORD")
	}
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: strings.Split(endpoints, ","),
		Username:  os.Getenv("ETCD_USERNAME"), Password: os.Getenv("ETCD_PASSWORD"),
	})
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return &site{
		what:   what,
		client: func() (client, error) { return etcdlock.NewClient(cli, nil) },
		close:  func() error { return errors.Join(cli.Close(), stop()) },
	}, nil
}

// onZooKeeper takes the servers as Java's clients do. It starts none: that takes a JVM.
func onZooKeeper() (*site, error) {
	servers := os.Getenv("ZOOKEEPER_SERVERS")
	if servers == "" {
		return nil, errors.New("there is no ZooKeeper: set ZOOKEEPER_SERVERS to its servers, such as localhost:2181")
	}
	return &site{
		what:   "the ZooKeeper of ZOOKEEPER_SERVERS",
		client: func() (client, error) { return zklock.NewClient(strings.Split(servers, ","), nil) },
		close:  nothing,
	}, nil
}

func nothing() error { return nil }
