package tcpproxy_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

func TestMain(m *testing.M) { servers.Main(m) }

const patience = 30 * time.Second

// listen starts a server that hands out its connections.
func listen(t *testing.T) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	conns, done := make(chan net.Conn, 8), make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		<-done
	})
	return listener.Addr().String(), conns
}

func dial(t *testing.T, path *tcpproxy.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", path.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func next(t *testing.T, accepted <-chan net.Conn) net.Conn {
	t.Helper()
	select {
	case conn := <-accepted:
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		return conn
	case <-time.After(patience):
		t.Fatal("nobody connects")
		return nil
	}
}

// send sends a word, and receives it at the other end.
func send(t *testing.T, from, to net.Conn, word string) {
	t.Helper()
	_, err := io.WriteString(from, word)
	require.NoError(t, err)
	receive(t, to, word)
}

func receive(t *testing.T, at net.Conn, word string) {
	t.Helper()
	got := make([]byte, len(word))
	_, err := io.ReadFull(at, got)
	require.NoError(t, err)
	require.Equal(t, word, string(got))
}

func TestEverythingGetsThrough(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	send(t, client, server, "request")
	send(t, server, client, "reply")
	require.NoError(t, client.Close())
	_, err := server.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestWhatIsHeldArrivesLater(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	path.Hold(tcpproxy.Requests, true)
	_, err := io.WriteString(client, "request")
	require.NoError(t, err)
	send(t, server, client, "reply") // the other direction goes on
	require.NoError(t, client.Close())
	require.NoError(t, server.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = server.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout")
	require.NoError(t, server.SetReadDeadline(time.Now().Add(patience)))
	path.Hold(tcpproxy.Requests, false)
	receive(t, server, "request")
	_, err = server.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "its sender has gone meanwhile")
}

func TestABlackHoleLosesEverything(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	path.Blackhole(true)
	_, err := io.WriteString(client, "request")
	require.NoError(t, err)
	late := dial(t, path)
	require.NoError(t, client.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = client.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout", "nothing breaks")
	require.NoError(t, client.SetReadDeadline(time.Now().Add(patience)))
	path.Blackhole(false)
	for _, conn := range []net.Conn{client, late, server} {
		_, err = conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "timeout")
	}
	again := dial(t, path)
	send(t, again, next(t, accepted), "request")
}

func TestWhatIsForgottenLosesEverything(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	require.Equal(t, 1, path.Forget())
	_, err := io.WriteString(client, "request")
	require.NoError(t, err)
	send(t, dial(t, path), next(t, accepted), "request")
	require.NoError(t, server.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = server.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout", "nothing breaks")
	path.Blackhole(false)
	_, err = client.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestConnectionsAreCut(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	path.Hold(tcpproxy.Replies, true)
	require.Positive(t, path.CutAll())
	for _, conn := range []net.Conn{client, server} {
		_, err := conn.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "timeout")
	}
}

func TestLatencyDelays(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	const latency = 100 * time.Millisecond
	path.Latency(latency)
	client := dial(t, path)
	server := next(t, accepted)
	start := time.Now()
	send(t, client, server, "request")
	send(t, server, client, "reply")
	require.GreaterOrEqual(t, time.Since(start), 2*latency)
}

func TestTargetLeadsNewConnectionsElsewhere(t *testing.T) {
	one, atOne := listen(t)
	path := tcpproxy.Start(t, one)
	client := dial(t, path)
	server := next(t, atOne)
	other, atOther := listen(t)
	path.Target(other)
	send(t, dial(t, path), next(t, atOther), "request")
	send(t, client, server, "request")
}

func TestNobodyListensAtTheTarget(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	path := tcpproxy.Start(t, listener.Addr().String())
	require.NoError(t, listener.Close())
	refused(t, path)
}

func TestNewConnectionsAreRefused(t *testing.T) {
	addr, accepted := listen(t)
	path := tcpproxy.Start(t, addr)
	client := dial(t, path)
	server := next(t, accepted)
	path.Refuse(true)
	refused(t, path)
	send(t, client, server, "request")
	path.Refuse(false)
	send(t, dial(t, path), next(t, accepted), "request")
}

// refused requires that a new connection is cut.
func refused(t *testing.T, path *tcpproxy.Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", path.Addr())
	if err != nil {
		return // it was cut before Dial returned
	}
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "timeout")
}
