package faultproxy_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const (
	limit = 10 * time.Second
	short = 100 * time.Millisecond // long enough for what happens, short enough for what must not
)

// increment is the script of these tests: its effect tells how often it was carried out.
var increment = redis.NewScript(`return redis.call('incr', KEYS[1])`)

// lab is a proxy in front of the shared server, a client that goes through it, and one that
// does not.
type lab struct {
	proxy  *faultproxy.Proxy
	opts   *redis.Options // of rdb
	rdb    *redis.Client
	direct *redis.Client
	key    string
}

// bothProtocols runs a test over RESP2 and RESP3.
func bothProtocols(t *testing.T, test func(t *testing.T, l *lab)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			t.Parallel()
			test(t, newLab(t, protocol))
		})
	}
}

func newLab(t *testing.T, protocol int) *lab {
	server := redistest.Shared(t)
	l := &lab{
		proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t), key: redistest.Key(t),
	}
	l.opts = &redis.Options{
		Addr: l.proxy.Addr(), Protocol: protocol, MaxRetries: -1, DialerRetries: 1,
		ReadTimeout: limit, ContextTimeoutEnabled: true,
	}
	l.rdb = l.client(t)
	require.NoError(t, l.rdb.Ping(t.Context()).Err())
	require.NoError(t, increment.Load(t.Context(), l.direct).Err())
	return l
}

func (l *lab) client(t *testing.T) *redis.Client {
	opts := *l.opts
	rdb := redis.NewClient(&opts)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// run runs the script through the proxy.
func (l *lab) run(ctx context.Context) (int, error) {
	return increment.EvalSha(ctx, l.rdb, []string{l.key}).Int()
}

// runBriefly runs the script with an answer expected soon or never.
func (l *lab) runBriefly(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	_, err := l.run(ctx)
	return err
}

// effects returns how often the script was carried out.
func (l *lab) effects(t *testing.T) int {
	n, err := l.direct.Get(t.Context(), l.key).Int()
	if err != redis.Nil {
		require.NoError(t, err)
	}
	return n
}

// unanswered checks that a request failed for want of an answer: go-redis reports the deadline of
// a context as one of the context or of the connection.
func unanswered(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), err)
}

// answer returns what a command of a pipeline was answered, nil for nothing. When a pipeline
// fails, go-redis puts its error on the commands that were answered as well.
func answer(cmd redis.Cmder) any { return cmd.(*redis.Cmd).Val() }

func (l *lab) works(t *testing.T) {
	t.Helper()
	require.NoError(t, l.rdb.Ping(t.Context()).Err())
}

func received(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(limit):
		t.Fatal("it did not happen")
	}
}
