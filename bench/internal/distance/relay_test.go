//go:build linux

package distance

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// served listens, and has each connection dealt with.
func served(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.Close()
}

func open(t *testing.T, roundTrip time.Duration, servers ...string) *Relay {
	t.Helper()
	r, err := Open(roundTrip, servers)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp4", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	return c
}

// exchange sends a byte and waits for it to come back.
func exchange(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := c.Write([]byte{7})
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(t, err)
}

func TestARoundTripTakesAtLeastTheDistance(t *testing.T) {
	const distance = 5 * time.Millisecond
	c := dial(t, open(t, distance, served(t, echo)).Addrs()[0])
	for range 5 {
		start := time.Now()
		exchange(t, c)
		require.GreaterOrEqual(t, time.Since(start), distance-10*time.Microsecond)
	}
}

// What is under way holds up nothing behind it: a hundred requests that are sent one after the other without waiting
// for replies take hardly longer than one, on one connection or on many.
func TestManyAreUnderWayAtATime(t *testing.T) {
	const distance, requests = 200 * time.Millisecond, 100
	r := open(t, distance, served(t, echo))
	one, many := dial(t, r.Addrs()[0]), make([]net.Conn, requests)
	for i := range many {
		many[i] = dial(t, r.Addrs()[0])
	}
	start := time.Now()
	for i := range requests {
		_, err := one.Write([]byte{byte(i)})
		require.NoError(t, err)
		_, err = many[i].Write([]byte{byte(i)})
		require.NoError(t, err)
		time.Sleep(100 * time.Microsecond) // each is a chunk of its own
	}
	got := make([]byte, requests)
	_, err := io.ReadFull(one, got)
	require.NoError(t, err)
	for i, c := range many {
		_, err := io.ReadFull(c, got[:1])
		require.NoError(t, err)
		require.EqualValues(t, i, got[0])
	}
	require.Less(t, time.Since(start), requests*distance/4)
}

// Nothing is lost, doubled or reordered, also where one side does not read for a while.
func TestBytesArriveAsTheyWereSent(t *testing.T) {
	r := open(t, time.Millisecond, served(t, echo))
	c := dial(t, r.Addrs()[0])
	sent := make([]byte, 8<<20)
	for i := range sent {
		sent[i] = byte(i * 31 >> 3)
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		done <- err
	}()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.NoError(t, <-done)
	require.True(t, bytes.Equal(sent, got), "%x", sha256.Sum256(got))
}

// The end of a connection is told to the other side, behind all that was sent before.
func TestAnEndIsPassedOn(t *testing.T) {
	r := open(t, time.Millisecond, served(t, func(c net.Conn) {
		all, _ := io.ReadAll(c)
		_, _ = c.Write(append(all, '!'))
		_ = c.Close()
	}))
	c := dial(t, r.Addrs()[0])
	_, err := c.Write([]byte("so long"))
	require.NoError(t, err)
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "so long!", string(all))
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.ends) == 0
	}, time.Minute, time.Millisecond, "a connection that has ended is forgotten")
}

// Round trips count if one came after the other, not if they were under way together.
func TestRoundTripsAreCountedOneAfterTheOther(t *testing.T) {
	addr := served(t, echo)
	r := open(t, 20*time.Millisecond, addr, addr)
	a, b := dial(t, r.Addrs()[0]), dial(t, r.Addrs()[1])
	for range 3 {
		exchange(t, a)
	}
	require.Equal(t, 3, r.Trips())
	r.Reset()
	require.Zero(t, r.Trips())
	for _, c := range []net.Conn{a, b} {
		_, err := c.Write([]byte{1})
		require.NoError(t, err)
	}
	for _, c := range []net.Conn{a, b} {
		_, err := io.ReadFull(c, make([]byte, 1))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, r.Trips(), 2) // one, unless this goroutine slept for a round trip between the two
	exchange(t, b)
	require.GreaterOrEqual(t, r.Trips(), 2)
}

// A message that a server sends because of another connection's request lies behind that one.
func TestAMessageLiesBehindWhatCausedIt(t *testing.T) {
	var waiting = make(chan net.Conn, 1)
	addr := served(t, func(c net.Conn) {
		first := make([]byte, 1)
		if _, err := io.ReadFull(c, first); err != nil {
			return
		}
		if first[0] == 'w' {
			waiting <- c
			_, _ = c.Write([]byte{'w'})
			return
		}
		_, _ = (<-waiting).Write([]byte{'m'})
	})
	r := open(t, 2*time.Millisecond, addr)
	w, s := dial(t, r.Addrs()[0]), dial(t, r.Addrs()[0])
	byteOf := make([]byte, 1)
	_, err := w.Write([]byte{'w'})
	require.NoError(t, err)
	_, err = io.ReadFull(w, byteOf)
	require.NoError(t, err)
	r.Reset()
	_, err = s.Write([]byte{'s'})
	require.NoError(t, err)
	_, err = io.ReadFull(w, byteOf)
	require.NoError(t, err)
	require.Equal(t, 1, r.Trips())
}

func TestTheRelayTellsItsOwnTime(t *testing.T) {
	r := open(t, time.Millisecond, served(t, echo))
	c := dial(t, r.Addrs()[0])
	before := r.CPU()
	for range 200 {
		exchange(t, c)
	}
	require.Greater(t, r.CPU(), before)
	require.GreaterOrEqual(t, r.Late(), time.Duration(0))
}

func TestNoServerNoRelay(t *testing.T) {
	_, err := Open(time.Millisecond, []string{"no address"})
	require.Error(t, err)
}
