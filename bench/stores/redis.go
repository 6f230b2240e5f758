package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/measure"
	"github.com/holdfast-go/holdfast/bench/internal/redisd"
	"github.com/holdfast-go/holdfast/rlock"
)

const oursOnRedis = contender.Ours + " on Redis"

// onRedis is what bench measures as well, with more peers: it is here for comparison with the other stores. bsm's lock
// is not renewed by the library, so it takes no part where that counts.
var onRedis = store{
	name: "redis", title: "Redis", start: startRedis, open: openRedis,
	usual:    []string{oursOnRedis, contender.Bsm},
	entrants: map[string][]string{"held1000": nil, "held10000": {oursOnRedis}, "crash": {oursOnRedis}},
	least:    time.Second,
	settling: 50 * time.Millisecond,
}

// redisServer keeps nothing on the disk, as it is with bench.
type redisServer struct {
	*redisd.Server
	number string
}

func startRedis(ctx context.Context, _ testing.TB) (server, error) {
	s, err := redisd.Start()
	if err != nil {
		return nil, err
	}
	number, err := s.Version(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &redisServer{s, number}, nil
}

func (s *redisServer) version() string { return "Redis " + s.number + ", without persistence" }

func (s *redisServer) addrs() []string { return []string{s.Addr()} }

func (s *redisServer) asker(ctx context.Context, addr string) (ask, hangUp func() error, err error) {
	c := redis.NewClient(&redis.Options{Addr: addr})
	return func() error { return c.Ping(ctx).Err() }, c.Close, nil
}

func (s *redisServer) close() error { return s.Close() }

// place is the whole server, emptied.
func (s *redisServer) place(ctx context.Context) (place, error) { return redisPlace{s}, s.Empty(ctx) }

type redisPlace struct{ server *redisServer }

func (p redisPlace) url() string { return "" }

func (p redisPlace) spent(ctx context.Context) (measure.Figures, error) {
	counts, err := p.server.Counts(ctx)
	return measure.Figures{calls: float64(counts.All()), renewing: float64(counts.Scripts())}, err
}

func (p redisPlace) tidy(ctx context.Context, _ string) error { return p.server.Empty(ctx) }

func (p redisPlace) close() error { return nil }

func openRedis(_ context.Context, name string, to target) (contender.Client, error) {
	if name != oursOnRedis {
		return contender.Open(name, to.general())
	}
	rdb := redis.NewClient(&redis.Options{Addr: to.Addrs[0], Dialer: to.meter.Dial})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: to.Lease, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return ours{client, func() error { return errors.Join(client.Close(), rdb.Close()) }}, nil
}
