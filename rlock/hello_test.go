package rlock_test

import (
	"bufio"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
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
	hangUp(t, proxy)
	err = tryAt(t, &redis.Options{Addr: proxy.Addr().String()})
	require.ErrorContains(t, err, "a proxy does that does not know HELLO")
}

// A server that refuses a connection by an alert of TLS has said why, and is no such proxy (defect G35). With TLS 1.3 the
// alert comes after the client's side of the handshake.
func TestAnAlertOfTLSIsNoProxy(t *testing.T) {
	t.Parallel()
	https := httptest.NewTLSServer(nil) // for its certificate
	https.Close()
	strict := https.TLS.Clone()
	strict.ClientAuth, strict.MinVersion = tls.RequireAnyClientCert, tls.VersionTLS13
	server, err := tls.Listen("tcp", "127.0.0.1:0", strict)
	require.NoError(t, err)
	hangUp(t, server)
	err = tryAt(t, &redis.Options{
		Addr: server.Addr().String(), TLSConfig: https.Client().Transport.(*http.Transport).TLSClientConfig,
	})
	require.ErrorContains(t, err, "certificate required")
	require.NotContains(t, err.Error(), "HELLO")
}

// hangUp takes a line of each connection, and hangs up.
func hangUp(t *testing.T, server net.Listener) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
}

// tryAt is the error of a TryLock at a server that serves nobody.
func tryAt(t *testing.T, o *redis.Options) error {
	t.Helper()
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	_, _, failed := c.Lock("a").TryLock(t.Context())
	require.ErrorIs(t, failed, rlock.ErrUnavailable)
	require.NoError(t, c.Close())
	return failed
}
