package rlock_test

import (
	"bufio"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// A proxy that hangs up because it does not know HELLO is named as the cause: "EOF" alone says nothing. (defect G35)
func TestAProxyThatDoesNotKnowHELLOIsNamed(t *testing.T) {
	t.Parallel()
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := proxy.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = proxy.Close()
		<-ended
	})
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr().String()})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	_, _, err = c.Lock("a").TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "a proxy does that does not know HELLO")
	require.NoError(t, c.Close())
}
