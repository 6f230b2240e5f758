package links_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// echo sends a text and returns the reply.
func echo(ctx context.Context, rdb redis.UniversalClient, text string) error {
	return rdb.Echo(ctx, text).Err()
}

// patient derives clients whose own limits do not cut a command's deadline short.
func patient(t *testing.T, rdb redis.UniversalClient) *links.Links {
	l, err := links.From(rdb, links.Limits{Command: 2 * eventually, Life: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// faulty derives clients that reach Redis through a proxy.
func faulty(t *testing.T) (*links.Links, *faultproxy.Proxy) {
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	opts := server.Options()
	opts.Addr = proxy.Addr()
	given := redis.NewClient(opts)
	t.Cleanup(func() { require.NoError(t, given.Close()) })
	return patient(t, given), proxy
}
