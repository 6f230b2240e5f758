package rlock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect B11, over TLS: its handshake takes two more round trips, on a connection that the first command needs. All
// of it together takes longer than a request may with this lease.
func TestTheFirstConnectionOverALongWayByTLS(t *testing.T) {
	t.Parallel()
	const trip = 240 * time.Millisecond
	server := redistest.Shared(t)
	addr, trusted := farTLS(t, server.Addr(), trip)
	rdb := redis.NewClient(&redis.Options{Addr: addr, TLSConfig: trusted})
	defer func() { require.NoError(t, rdb.Close()) }()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: 3 * time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()

	lock := rlock.New(client, redistest.Key(t), rlock.MaxWait(15*time.Second))
	// A request has a sixth of the lease, of which the way takes half: on a busy machine the first may have too little.
	// Where a connection never gets ready in time, the last one has, too.
	_, unlock, err := lock.Lock(context.Background())
	for range 4 {
		if err != nil {
			_, unlock, err = lock.Lock(context.Background())
		}
	}
	require.NoError(t, err)
	var lost *rlock.LostError // the lease may end while the machine is busy
	if err := unlock(); !errors.As(err, &lost) {
		require.NoError(t, err)
	}
}

// farTLS puts a TLS server, a round trip away, in front of a Redis. It returns its address, and how to trust it.
func farTLS(t *testing.T, target string, trip time.Duration) (addr string, trust *tls.Config) {
	t.Helper()
	https := httptest.NewTLSServer(nil) // for its certificate
	https.Close()
	trust = https.Client().Transport.(*http.Transport).TLSClientConfig
	far, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var relaying sync.WaitGroup
	t.Cleanup(func() {
		require.NoError(t, far.Close())
		relaying.Wait() // the client is closed by now, and its connections with it
	})
	relaying.Go(func() {
		for {
			conn, err := far.Accept()
			if err != nil {
				return
			}
			relaying.Go(func() {
				time.Sleep(trip) // a connection over that way is made after one
				near, inside := net.Pipe()
				relaying.Go(func() { late(conn, inside, trip/2) })
				relaying.Go(func() { late(inside, conn, trip/2) })
				serve(&relaying, tls.Server(near, https.TLS), target)
			})
		}
	})
	return far.Addr().String(), trust
}

// serve carries the plain bytes of one connection to Redis and back.
func serve(relaying *sync.WaitGroup, client net.Conn, target string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	relaying.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	})
	_, _ = io.Copy(client, server)
}

// late copies everything, that much later than it came, and then the end.
func late(to, from net.Conn, by time.Duration) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 4096)
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			pieces <- piece{buffer[:n], time.Now().Add(by)}
		}
	}()
	for p := range pieces {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_ = to.Close()
	_ = from.Close()
	for range pieces { // the reader ends by now
	}
}
