package goredis_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
)

func TestARefusalIsToldFromABrokenConnection(t *testing.T) {
	for said, is := range map[string]func(err error) bool{
		"MOVED 7 127.0.0.1:7": func(err error) bool {
			addr, moved := redis.IsMovedError(err)
			return moved && addr == "127.0.0.1:7"
		},
		"ASK 7 127.0.0.1:7": func(err error) bool {
			addr, ask := redis.IsAskError(err)
			return ask && addr == "127.0.0.1:7"
		},
		"TRYAGAIN later":                  redis.IsTryAgainError,
		"NOPERM no right":                 redis.IsPermissionError,
		"WRONGPASS invalid":               redis.IsAuthError,
		"NOSCRIPT none":                   prefixed("NOSCRIPT"),
		"READONLY a replica":              prefixed("READONLY"),
		"CROSSSLOT keys":                  prefixed("CROSSSLOT"),
		"ERR max number of clients":       func(err error) bool { return err.Error() == "ERR max number of clients" },
		"ERR Error running script -OOM x": prefixed("Error running script"),
	} {
		c, proxy, _ := faulty(t)
		require.NoError(t, c.Ping(t.Context()).Err())
		proxy.On(faultproxy.Command("echo"), faultproxy.AnswerError(said))
		err := c.Echo(t.Context(), "a").Err()
		var refused redis.Error
		require.ErrorAs(t, err, &refused, said)
		require.True(t, is(err), "%s: %v", said, err)
	}
	c, proxy, _ := faulty(t)
	proxy.On(faultproxy.Command("echo"), faultproxy.CutBefore)
	err := c.Echo(t.Context(), "a").Err()
	require.Error(t, err)
	var refused redis.Error
	require.NotErrorAs(t, err, &refused)
}

func prefixed(prefix string) func(error) bool {
	return func(err error) bool { return redis.HasErrorPrefix(err, prefix) }
}

// That nothing was sent because no connection was free is told from an answer that did not come.
func TestAFullPoolIsAnErrorOfItsOwn(t *testing.T) {
	_, proxy, _ := faulty(t)
	o := strict(proxy.Addr())
	o.PoolTimeout = 50 * time.Millisecond
	c := client(t, o)
	require.NoError(t, c.Ping(t.Context()).Err())
	held := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Echo(ctx, "a").Err()
	}()
	held.Wait(t, 1)
	require.ErrorIs(t, c.Ping(t.Context()).Err(), redis.ErrPoolTimeout)
	require.NoError(t, c.Close())
	<-ended
}
