package links

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// tracks are the open connections of a derived client. Those to a server that is no longer a primary can be
// closed at once, in use or not. They notice what raises doubt about a server.
//
// mu also settles the race of a dial with leave. If leave comes first, wrap finds the server among left and
// closes the new connection. If wrap comes first, leave finds the connection among open.
type tracks struct {
	dialled  bool          // connections are known by the address that is dialled, not by their peer's
	used     func()        // something is about to be sent
	doubtful func()        // a connection failed, or was refused
	silence  time.Duration // how long an answer may be outstanding

	mu   sync.Mutex // guards all below
	open map[*track]struct{}
	left map[string]time.Time // servers that were left, and when
}

var errLeft = errors.New("this server is no longer a primary")

// track is one connection.
//
// asked is set by the goroutine that writes and cleared by the one that reads, so it is atomic. Only the first
// write of an exchange sets it. A pipeline whose first reply arrived does not count as silent any more; if the
// server then hangs, the command's own deadline ends the exchange, and the next one raises doubt.
type track struct {
	net.Conn
	of    *tracks
	addr  string
	asked atomic.Int64 // when the exchange under way was sent, in ns of the wall clock; 0: there is none
}

// wrap makes a dialer register its connections.
func (ts *tracks) wrap(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ts.used()
		conn, err := d(ctx, network, addr)
		if err != nil {
			ts.doubtful()
			return nil, err
		}
		t := &track{Conn: conn, of: ts, addr: addr}
		if !ts.dialled {
			t.addr = peerOf(conn)
		}
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if at, ok := ts.left[t.addr]; ok && time.Since(at) < doubt {
			_ = conn.Close() // it was chosen before that was known
			return nil, &net.OpError{Op: "dial", Net: network, Err: errLeft}
		}
		if ts.open == nil {
			ts.open = make(map[*track]struct{})
		}
		ts.open[t] = struct{}{}
		if socket, ok := conn.(syscall.Conn); ok {
			return &trackedSocket{t, socket}, nil
		}
		return t, nil
	}
}

// trackedSocket is a track that exposes its socket.
type trackedSocket struct {
	*track
	socket syscall.Conn
}

// SyscallConn implements [syscall.Conn].
func (t *trackedSocket) SyscallConn() (syscall.RawConn, error) { return t.socket.SyscallConn() }

func peerOf(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return addr.String()
	}
	return ""
}

// Write implements [net.Conn].
func (t *track) Write(p []byte) (int, error) {
	t.of.used()
	t.asked.CompareAndSwap(0, time.Now().UnixNano())
	n, err := t.Conn.Write(p)
	t.judge(err)
	return n, err
}

// Read implements [net.Conn].
func (t *track) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if n > 0 {
		t.asked.Store(0)
		if p[0] == '-' && refusesItsRole(p[:n]) {
			t.of.doubtful()
		}
	}
	t.judge(err)
	return n, err
}

// refusesItsRole reports that a reply comes from a server that cannot serve as the primary of its keys.
func refusesItsRole(reply []byte) bool {
	for _, word := range []string{"-READONLY", "-CLUSTERDOWN", "-MASTERDOWN"} {
		if bytes.HasPrefix(reply, []byte(word)) {
			return true
		}
	}
	return false
}

// judge handles a failure. A timeout is none: the follower notices silence by itself, and earlier.
func (t *track) judge(err error) {
	var timeout net.Error
	if err == nil || errors.Is(err, net.ErrClosed) || errors.As(err, &timeout) && timeout.Timeout() {
		return
	}
	t.of.doubtful()
}

// Close implements [net.Conn].
func (t *track) Close() error {
	t.of.mu.Lock()
	delete(t.of.open, t)
	t.of.mu.Unlock()
	return t.Conn.Close()
}

// silent reports whether an answer has been outstanding for too long.
//
// It compares times of the wall clock, since an atomic holds only a number. If somebody sets the clock ahead,
// one doubt is raised in vain; if it is set back, silence is noticed later, and at the latest by the command's
// deadline.
func (ts *tracks) silent(now time.Time) bool {
	since := now.Add(-ts.silence).UnixNano()
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		if asked := t.asked.Load(); asked != 0 && asked < since {
			return true
		}
	}
	return false
}

// peers returns the servers with a connection.
func (ts *tracks) peers() map[string]bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	all := make(map[string]bool, 1)
	for t := range ts.open {
		all[t.addr] = true
	}
	return all
}

// presumed returns the servers that count as primaries before anybody has said which are: all with a connection, and
// of a cluster those that owe an answer. A client has connections to a cluster's replicas too, since it asks them for
// the map. If the follower left a replica for that, dials to it would be refused while it is being promoted.
func (ts *tracks) presumed() (all []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		if !ts.dialled || t.asked.Load() != 0 {
			all = append(all, t.addr)
		}
	}
	return all
}

// peer returns the server of the only connection; "" if there is none.
func (ts *tracks) peer() string {
	for addr := range ts.peers() {
		return addr
	}
	return ""
}

// retire ends all connections. Exchanges under way fail at once.
func (ts *tracks) retire() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		_ = t.Conn.Close()
	}
}

// leave ends all connections to a server, and prevents new ones for a while. Exchanges under way fail at once.
//
// A user of one notices it as an error of the read or write under way; go-redis then closes its side too. Requests of
// which that leaves the outcome open are handled as after any broken connection.
func (ts *tracks) leave(addr string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		if t.addr == addr {
			_ = t.Conn.Close()
		}
	}
	if ts.left == nil {
		ts.left = make(map[string]time.Time)
	}
	ts.left[addr] = time.Now()
}

// welcome allows connections to servers again, and forgets those that were left long ago.
//
// A server can be deposed and promoted again within the time for which it would be refused. Once the cluster or
// Sentinel names it as a primary, connections to it are made at once.
func (ts *tracks) welcome(addrs []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	maps.DeleteFunc(ts.left, func(addr string, at time.Time) bool {
		return slices.Contains(addrs, addr) || time.Since(at) >= doubt
	})
}
