package cli

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// connection is what a command works with.
type connection struct {
	redis  redis.UniversalClient
	client *rlock.Client
}

// connect makes the connection that the flags ask for. It sends nothing.
func (g *globals) connect() (*connection, error) {
	rdb, err := g.open()
	if err != nil {
		return nil, usageError{err}
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opts := &rlock.ClientOptions{Lease: g.lease, Logger: logger}
	if g.lease > 0 {
		opts.ReleaseTimeout = min(g.lease/2, 5*time.Second) // the lease may be over before a release gets through
	}
	client, err := rlock.NewClient(rdb, opts)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &connection{redis: rdb, client: client}, nil
}

// close ends both clients. The error is about locks that were still held, or could not be released.
func (c *connection) close() error { return errors.Join(c.client.Close(), c.redis.Close()) }

// open makes the client of a server, of a cluster or of a primary that Sentinels watch.
func (g *globals) open() (redis.UniversalClient, error) {
	one, err := redis.ParseURL(g.address())
	if err != nil {
		return nil, err
	}
	if one.TLSConfig, err = g.tls.over(one.TLSConfig); err != nil {
		return nil, err
	}
	switch {
	case len(g.cluster) > 0:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: g.cluster, Username: one.Username, Password: one.Password, TLSConfig: g.tls.forHosts(one.TLSConfig),
		}), nil
	case len(g.sentinel) > 0:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			SentinelAddrs: g.sentinel, MasterName: g.master, DB: one.DB,
			Username: one.Username, Password: one.Password, TLSConfig: g.tls.forHosts(one.TLSConfig),
		}), nil
	}
	return redis.NewClient(one), nil
}

// address is the URL of the server.
func (g *globals) address() string {
	for _, url := range []string{g.url, os.Getenv("REDIS_URL")} {
		if url != "" {
			return url
		}
	}
	return "redis://localhost:6379"
}
