package links_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A server that comes back is used at once, however many dials failed while it was down: go-redis's pools would let
// nothing through for up to a second.
func TestDialsThatFailAreNotHeldAgainstTheServer(t *testing.T) {
	server := redistest.Shared(t)
	var away atomic.Bool
	opts := server.Options()
	opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if away.Load() {
			return nil, errors.New("out of reach")
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}
	given := redis.NewClient(opts)
	defer func() { require.NoError(t, given.Close()) }()
	l := patient(t, given)
	ctx := t.Context()
	away.Store(true)
	for range 100 {
		err := l.Traffic.Ping(ctx).Err()
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op, "nothing was sent")
		require.ErrorContains(t, err, "out of reach")
	}
	away.Store(false)
	require.NoError(t, l.Traffic.Ping(ctx).Err())
}
