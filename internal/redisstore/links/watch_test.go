package links_test

import (
	"context"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// looks counts the polls of a socket.
type looks struct {
	syscall.RawConn
	n     int
	after func(n int) // each of them
}

func (l *looks) Read(look func(fd uintptr) bool) error {
	err := l.RawConn.Read(look)
	l.n++
	if l.after != nil {
		l.after(l.n)
	}
	return err
}

// waits counts the reads in which a goroutine may sleep.
type waits struct {
	net.Conn
	n      int
	before func() // each of them
}

func (w *waits) Read(p []byte) (int, error) {
	w.n++
	if w.before != nil {
		w.before()
	}
	return w.Conn.Read(p)
}

// watched is a connection whose exchanges poll for replies.
type watched struct {
	*testing.T
	looks   looks
	waits   waits
	peer    net.Conn
	waiting atomic.Int32
	read    func(conn net.Conn, p []byte) (int, error)
}

func newWatched(t *testing.T) *watched {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	peer, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = peer.Close() })
	socket, err := conn.(syscall.Conn).SyscallConn()
	require.NoError(t, err)
	w := &watched{T: t, looks: looks{RawConn: socket}, waits: waits{Conn: conn}, peer: peer}
	w.read = links.Watch(&w.looks, &w.waiting)
	return w
}

func (w *watched) send(text string) {
	_, err := w.peer.Write([]byte(text))
	require.NoError(w, err)
}

// receives reads a reply.
func (w *watched) receives(want string) {
	w.Helper()
	w.looks.n, w.waits.n = 0, 0
	p := make([]byte, 16)
	n, err := w.read(&w.waits, p)
	require.NoError(w, err)
	require.Equal(w, want, string(p[:n]))
	require.Zero(w, w.waiting.Load())
}

// late makes a reply arrive after polling has ended.
func (w *watched) late() {
	w.waits.before = func() { w.send("late") }
	defer func() { w.waits.before = nil }()
	w.receives("late")
	require.Equal(w, 1, w.waits.n)
}

// soon makes a reply arrive before anybody reads.
func (w *watched) soon() {
	w.Helper()
	w.send("soon")
	w.receives("soon")
	require.Equal(w, 1, w.looks.n+w.waits.n)
}

// No goroutine sleeps for a reply that arrives while the exchange polls.
func TestAReplyIsWatchedFor(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.looks.after = func(n int) {
		if n == 1 {
			w.send("reply")
		}
	}
	redistest.Eventually(t, eventually, func() bool {
		w.read = links.Watch(&w.looks, &w.waiting) // one that has not been late
		w.receives("reply")
		return w.waits.n == 0 // unless this process was stopped for a moment
	}, "it is always slept for")
	require.Greater(t, w.looks.n, 1)
}

// After late replies exchanges do not poll for a while, longer each time up to a limit, until a reply arrives in
// time.
func TestRepliesThatAreLateAreNotWatchedFor(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	rests := func(n int) {
		for range n {
			w.soon()
			require.Zero(t, w.looks.n)
		}
	}
	w.late()
	require.Positive(t, w.looks.n)
	rest, longest := 1, 0
	for longest < 2 {
		rests(rest)
		w.late()
		require.Positive(t, w.looks.n, "after %d", rest)
		if rest = 2*rest + 1; rest > links.RestMost {
			rest = links.RestMost
			longest++
		}
	}
	rests(rest)
	w.soon()
	require.Equal(t, 1, w.looks.n)
	w.late()
	require.Positive(t, w.looks.n)
	rests(1)
	w.soon()
	require.Equal(t, 1, w.looks.n, "one was in time, and all begins anew")
}

// While several exchanges wait, none of them polls.
func TestNobodyWatchesInCompany(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	w.looks.after = func(n int) {
		if n == 1 {
			w.waiting.Add(1)
		}
	}
	w.waits.before = func() { w.send("reply") }
	p := make([]byte, 16)
	n, err := w.read(&w.waits, p)
	require.NoError(t, err)
	require.Equal(t, "reply", string(p[:n]))
	require.Equal(t, 1, w.looks.n)
	require.Equal(t, 1, w.waits.n)
	require.EqualValues(t, 1, w.waiting.Load())
}

// The exchanges of a client poll, and know of one another; a subscription that waits for messages does not count.
func TestExchangesOfAClientAreWatched(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	sub := l.Traffic.Subscribe(t.Context(), "nothing is ever said here")
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		_, _ = sub.ReceiveMessage(context.Background())
	}()
	for _, taken := range []bool{false, true} { // exchanges poll on connections from the pool too
		gate := faultproxy.NewGate()
		held := proxy.On(faultproxy.Command("echo"), faultproxy.HoldReply(gate)).Times(2)
		results := make(chan error, 2)
		for i := range 2 {
			go func() { results <- echo(context.Background(), l.Traffic, "held") }()
			held.Wait(t, i+1)
			redistest.Eventually(t, eventually, func() bool {
				return !taken || l.Wires().Waiting() == i+1
			}, "it is not watched")
		}
		gate.Open()
		require.NoError(t, <-results)
		require.NoError(t, <-results)
	}
	require.Zero(t, l.Wires().Waiting())
	require.NoError(t, sub.Close())
	<-silent
}

// The end of a connection, or of an exchange, ends the polling.
func TestAWatchEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(w *watched) error
		want error
	}{
		"a peer that hangs up":  {func(w *watched) error { return w.peer.Close() }, io.EOF},
		"a connection closed":   {func(w *watched) error { return w.waits.Close() }, net.ErrClosed},
		"a deadline":            {func(w *watched) error { return w.waits.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"a peer that goes away": {func(w *watched) error { return reset(w.peer) }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t)
			require.NoError(t, test.end(w))
			_, err := w.read(&w.waits, make([]byte, 16))
			require.ErrorIs(t, err, test.want)
		})
	}
}

func reset(conn net.Conn) error {
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
		return err
	}
	return conn.Close()
}
