package links

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
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
// They notice, too, what raises doubt about connections. Balancers and firewalls forget those that were idle for some
// minutes, and tell neither side. So when a request is not answered, the connections to its server that are idle and of
// which nothing has come since it was sent are closed: each could cost another request the same time. What has answered
// since then stays. If it is the server that does not answer, they are made again when it does.
//
// mu also settles the race of a dial with leave. If leave comes first, wrap finds the server among left and
// closes the new connection. If wrap comes first, leave finds the connection among open.
type tracks struct {
	dialled  bool          // connections are known by the address that is dialled, not by their peer's
	used     func()        // something is about to be sent
	doubtful func()        // a connection failed, or was refused
	silence  time.Duration // how long an answer may be outstanding
	made     atomic.Int64  // how many connections were made

	mu   sync.Mutex // guards all below
	open map[*track]struct{}
	left map[string]time.Time // servers that were left, and when
	over bool                 // no connection is made any more
}

// track is one connection.
//
// asked is set by the goroutine that writes and cleared by the one that reads, so it is atomic. Only the first
// write of an exchange sets it. A pipeline whose first reply arrived does not count as silent any more; if the
// server then hangs, the command's own deadline ends the exchange, and the next one raises doubt.
type track struct {
	net.Conn
	of     *tracks
	addr   string
	socket syscall.RawConn             // nil: there is none that may be looked at, as below TLS
	over   atomic.Pointer[closedError] // why nothing may be sent on it any more; nil: it may
	asked  atomic.Int64                // when the exchange under way was sent, in ns of the wall clock; 0: none is
	heard  atomic.Int64                // when something came last, or it was made
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
		t := &track{Conn: conn, of: ts, addr: Address(addr)}
		t.heard.Store(time.Now().UnixNano())
		if !ts.dialled {
			t.addr = peerOf(conn)
		}
		if socket, ok := conn.(syscall.Conn); ok {
			t.socket, _ = socket.SyscallConn()
		}
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if ts.over {
			_ = conn.Close()
			return nil, errEnded
		}
		if at, ok := ts.left[t.addr]; ok && time.Since(at) < doubt {
			_ = conn.Close() // it was chosen before that was known
			return nil, &net.OpError{Op: "dial", Net: network, Err: errLeft}
		}
		if ts.open == nil {
			ts.open = make(map[*track]struct{})
		}
		ts.open[t] = struct{}{}
		ts.made.Add(1)
		return t, nil
	}
}

// SyscallConn implements [syscall.Conn]. Go-redis looks at a socket before it uses the connection again.
func (t *track) SyscallConn() (syscall.RawConn, error) { return (*tracked)(t), nil }

// tracked is the socket of a track. It fails if nothing may be sent any more, also where no socket would show that.
type tracked track

// Read implements [syscall.RawConn].
func (t *tracked) Read(look func(fd uintptr) bool) error {
	switch {
	case t.over.Load() != nil:
		return net.ErrClosed
	case t.socket == nil:
		return nil
	}
	return t.socket.Read(look)
}

// Write implements [syscall.RawConn].
func (t *tracked) Write(do func(fd uintptr) bool) error {
	if t.socket == nil {
		return errors.ErrUnsupported
	}
	return t.socket.Write(do)
}

// Control implements [syscall.RawConn].
func (t *tracked) Control(do func(fd uintptr)) error {
	if t.socket == nil {
		return errors.ErrUnsupported
	}
	return t.socket.Control(do)
}

func peerOf(conn net.Conn) string {
	if addr := conn.RemoteAddr(); addr != nil {
		return Address(addr.String())
	}
	return ""
}

// Write implements [net.Conn].
func (t *track) Write(p []byte) (int, error) {
	t.of.used()
	t.asked.CompareAndSwap(0, time.Now().UnixNano())
	n, err := t.Conn.Write(p)
	err = t.explain("write", err)
	t.judge(err)
	return n, err
}

// Read implements [net.Conn].
func (t *track) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	switch asked := t.asked.Load(); {
	case n > 0:
		t.heard.Store(time.Now().UnixNano())
		t.asked.Store(0)
		if p[0] == '-' && refuses(p[:n]) {
			why := refusal(p[:n])
			t.over.Store(why) // a new one may lead to a server that serves
			t.of.distrust(t.addr, math.MaxInt64, why)
			t.of.doubtful()
		}
	case asked != 0 && timedOut(err):
		t.of.distrust(t.addr, asked, errSuspected)
	}
	err = t.explain("read", err)
	t.judge(err)
	return n, err
}

// distrust closes the idle connections to a server of which nothing has come since a time. One of them may have been
// taken for a request that is about to be sent.
func (ts *tracks) distrust(addr string, since int64, why *closedError) {
	var idle []*track
	ts.mu.Lock()
	for t := range ts.open {
		if t.addr == addr && t.asked.Load() == 0 && t.heard.Load() < since && t.over.CompareAndSwap(nil, why) {
			idle = append(idle, t)
		}
	}
	ts.mu.Unlock()
	for _, t := range idle {
		_ = t.Conn.Close()
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// refuses reports that a reply comes from a server that cannot serve as the primary of its keys: it is no primary, or
// it was started anew and has not read its data yet.
func refuses(reply []byte) bool {
	for _, word := range []string{"-READONLY", "-CLUSTERDOWN", "-MASTERDOWN", "-LOADING"} {
		if bytes.HasPrefix(reply, []byte(word)) {
			return true
		}
	}
	// Redis 6 answers so from inside a script.
	return bytes.HasPrefix(reply, []byte("-ERR Error running script")) && bytes.Contains(reply, []byte("-READONLY "))
}

// judge handles a failure. A timeout is none: the follower notices silence by itself, and earlier.
func (t *track) judge(err error) {
	if err == nil || errors.Is(err, net.ErrClosed) || timedOut(err) {
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

// peer returns the server of all connections; "" if there is none, or if there are several.
func (ts *tracks) peer() (addr string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		if addr != "" && t.addr != addr {
			return ""
		}
		addr = t.addr
	}
	return addr
}

// retire ends all connections. Exchanges under way fail at once.
func (ts *tracks) retire(why *closedError) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for t := range ts.open {
		t.over.Store(why)
		_ = t.Conn.Close()
	}
}

// end ends all connections, and prevents new ones. Go-redis closes those that it has made, and not one that it is
// greeting: a subscription would wait for that greeting, and the end of the client for the subscription.
func (ts *tracks) end() {
	ts.mu.Lock()
	ts.over = true
	ts.mu.Unlock()
	ts.retire(errEnded)
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
			t.over.Store(errLeft)
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
