package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// connection is what a command works with.
type connection struct {
	redis    redis.UniversalClient
	client   *rlock.Client
	muted    *atomic.Bool // the client logs nothing
	at       string       // where Redis is, for messages
	secure   bool         // by TLS
	sentinel bool         // Sentinels say where the primary is
}

// connect makes the connection that the flags ask for. It sends nothing. The owner is what others are told of its
// holds.
func (g *globals) connect(owner string) (*connection, error) {
	rdb, err := g.open()
	if err != nil {
		return nil, usageError{err}
	}
	opts, muted := g.clientOptions(owner)
	client, err := rlock.NewClient(rdb, opts)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	at, secure := g.place(rdb)
	return &connection{
		redis: rdb, client: client, muted: muted, at: at, secure: secure, sentinel: len(g.sentinel) > 0,
	}, nil
}

// clientOptions are those of the locks' client, and what mutes its log.
func (g *globals) clientOptions(owner string) (opts *rlock.ClientOptions, muted *atomic.Bool) {
	muted = new(atomic.Bool)
	handler := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})
	opts = &rlock.ClientOptions{
		Lease: g.lease, MinReplicas: g.replicas, Fsync: g.fsync, Prefix: g.names(), Owner: owner,
		Logger: slog.New(mutable{handler, muted}),
	}
	if g.lease > 0 {
		opts.ReleaseTimeout = min(g.lease/2, 5*time.Second) // the lease may be over before a release gets through
	}
	return opts, muted
}

// mutable is a log that can be told to be silent.
type mutable struct {
	slog.Handler
	muted *atomic.Bool
}

func (m mutable) Enabled(ctx context.Context, level slog.Level) bool {
	return !m.muted.Load() && m.Handler.Enabled(ctx, level)
}

func (m mutable) WithAttrs(attrs []slog.Attr) slog.Handler {
	return mutable{m.Handler.WithAttrs(attrs), m.muted}
}

func (m mutable) WithGroup(name string) slog.Handler {
	return mutable{m.Handler.WithGroup(name), m.muted}
}

// close ends both clients. The error is about locks that were still held, or could not be released.
func (c *connection) close() error { return errors.Join(c.client.Close(), c.redis.Close()) }

// open makes the client of a server, of a cluster or of a primary that Sentinels watch.
func (g *globals) open() (redis.UniversalClient, error) {
	options, err := g.options()
	if err != nil {
		return nil, err
	}
	switch o := options.(type) {
	case *redis.ClusterOptions:
		return redis.NewClusterClient(o), nil
	case *redis.FailoverOptions:
		return redis.NewFailoverClient(o), nil
	}
	return redis.NewClient(options.(*redis.Options)), nil
}

// options are *redis.Options, *redis.ClusterOptions or *redis.FailoverOptions. All that the URL says, except the host,
// holds for a cluster and behind Sentinels, too.
func (g *globals) options() (any, error) {
	one, err := g.parse()
	if err != nil {
		return nil, err
	}
	if one.TLSConfig, err = g.tls.over(one.TLSConfig); err != nil {
		return nil, err
	}
	switch {
	case len(g.cluster) > 0 && one.DB != 0:
		return nil, fmt.Errorf("a cluster has database 0 only, and the URL names database %d", one.DB)
	case len(g.cluster) > 0:
		o := &redis.ClusterOptions{}
		carry(one, o)
		o.Addrs, o.TLSConfig = g.cluster, g.tls.forHosts(one.TLSConfig)
		return o, nil
	case len(g.sentinel) > 0:
		o := &redis.FailoverOptions{}
		carry(one, o)
		o.MasterName, o.SentinelAddrs, o.TLSConfig = g.master, g.sentinel, g.tls.forHosts(one.TLSConfig)
		o.SentinelUsername = cmp.Or(g.sentinelUser, os.Getenv("HOLDFAST_SENTINEL_USER"))
		o.SentinelPassword = cmp.Or(g.sentinelPassword, os.Getenv("HOLDFAST_SENTINEL_PASSWORD"))
		o.ReadTimeout = cmp.Or(o.ReadTimeout, time.Second) // a Sentinel that hangs is left after twice this time
		return o, nil
	}
	return one, nil
}

// carry copies each option that both have.
func carry(from *redis.Options, to any) {
	have, want := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range want.NumField() {
		field := want.Type().Field(i)
		given := have.FieldByName(field.Name)
		if field.IsExported() && given.IsValid() && given.Type() == field.Type {
			want.Field(i).Set(given)
		}
	}
}
