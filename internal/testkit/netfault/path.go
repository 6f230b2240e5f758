// Package netfault injects faults where a client dials: its connections fall silent, are forgotten, slow, refused, or
// never made. It needs no proxy and knows no protocol, so it serves every client that takes a dialer, and every address
// that it dials: a cluster's nodes and Sentinels, too.
//
//	var path netfault.Path
//	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: path.Dial})
//	path.Silence(true)
//
// Package tcpproxy does the same from outside the process, and faultproxy knows single requests of Redis.
package netfault

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Dialer opens a connection, as [net.Dialer.DialContext] does.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Path is the way of one client to its servers. The zero Path is ready to use and has no faults. Its methods may be
// called by any goroutine.
type Path struct {
	// Next opens the connections; nil: a net.Dialer. It must not change after the first Dial.
	Next Dialer

	mu      sync.Mutex // guards what follows
	silent  bool
	refuses bool
	room    int           // how many connections may be open; 0: any number
	each    func()        // is called before each dialling; nil: nothing
	hangs   chan struct{} // closed when dialling hangs no more; nil: it does not hang
	delay   time.Duration
	dialled int
	conns   map[*conn]struct{} // those that the client has not closed
}

// Dial opens a connection with the faults of the path.
func (p *Path) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	p.mu.Lock()
	p.dialled++
	each, refuses, full, hangs, next := p.each, p.refuses, p.fullLocked(), p.hangs, p.Next
	p.mu.Unlock()
	if each != nil {
		each()
	}
	if hangs != nil {
		select {
		case <-hangs:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: context.Cause(ctx)}
		}
	}
	if refuses || full {
		return nil, refusal(network, addr)
	}
	if next == nil {
		next = new(net.Dialer).DialContext
	}
	inner, err := next(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, path: p, over: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses || p.fullLocked() { // since
		_ = inner.Close()
		return nil, refusal(network, addr)
	}
	if p.silent {
		c.state = lost
	}
	if p.conns == nil {
		p.conns = make(map[*conn]struct{})
	}
	p.conns[c] = struct{}{}
	return c, nil
}

// refusal is the error of a dial that was refused, as [net.Dialer] makes it.
func refusal(network, addr string) error {
	return &net.OpError{
		Op: "dial", Net: network, Addr: target{network, addr}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
	}
}

// target is an address that was dialled.
type target struct{ network, addr string }

func (t target) Network() string { return t.network }
func (t target) String() string  { return t.addr }

// Silence switches a state on or off in which nothing gets through: connections stay open, new ones are accepted, and
// every byte is lost in both directions. The end of the state cuts the connections that lost something in it.
func (p *Path) Silence(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = on
	for c := range p.conns {
		switch {
		case on && c.state == open:
			c.state = lost
		case !on && c.state == lost:
			c.cut()
		}
	}
}

// Forget has the connections that are open now lose every byte in both directions for as long as they live, and new
// ones work: so does a balancer that forgets connections which have been idle, and says nothing. It returns how many
// they are.
func (p *Path) Forget() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if c.state == open {
			c.state = lost
		}
	}
	return len(p.conns)
}

// Refuse switches a state on or off in which new connections are refused. The existing ones stay, and work.
func (p *Path) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = on
}

// Full switches a state on or off in which new connections are refused while as many are open as when it began: so does
// a server that allows an address so many.
func (p *Path) Full(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.room = 0
	if on {
		p.room = max(len(p.conns), 1)
	}
}

func (p *Path) fullLocked() bool { return p.room > 0 && len(p.conns) >= p.room }

// Hang switches a state on or off in which a new connection is neither made nor refused, as where the name server is
// silent. The existing ones stay, and work.
func (p *Path) Hang(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case on && p.hangs == nil:
		p.hangs = make(chan struct{})
	case !on && p.hangs != nil:
		close(p.hangs)
		p.hangs = nil
	}
}

// Cut cuts the connections that are open, and returns how many they were.
func (p *Path) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.cut()
	}
	return len(p.conns)
}

// Slow delays by d whatever the client receives.
func (p *Path) Slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Each has a function called before each dialling from now on, by the client's goroutine, as a dialer of the
// application's would be. Nil: none.
func (p *Path) Each(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.each = do
}

// Dialled counts the connections that were asked for, made or not.
func (p *Path) Dialled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialled
}

// Open counts the connections that the client has not closed.
func (p *Path) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// state is what becomes of what is sent and received.
type state int

const (
	open state = iota
	lost       // nothing gets through any more
	cut        // its end was reset
)

// conn is one connection of a path. Its mutex comes after the path's.
type conn struct {
	net.Conn
	path  *Path
	over  chan struct{} // closed when the client closes it
	state state         // guarded by the path's mutex

	mu       sync.Mutex // guards what follows
	closed   bool
	deadline time.Time     // of reads
	moved    chan struct{} // closed when the deadline or the state is another; nil: nobody waits
}

var errReset = os.NewSyscallError("read", syscall.ECONNRESET)

// cut resets the connection. The path's mutex is held.
func (c *conn) cut() {
	c.state = cut
	_ = c.Conn.Close()
	c.wake()
}

// faults returns what becomes of what is sent and received, and by how much what is received comes late.
func (c *conn) faults() (state, time.Duration) {
	c.path.mu.Lock()
	defer c.path.mu.Unlock()
	return c.state, c.path.delay
}

func (c *conn) Write(b []byte) (int, error) {
	if c.isClosed() {
		return 0, net.ErrClosed
	}
	switch is, _ := c.faults(); is {
	case lost:
		return len(b), nil
	case cut:
		return 0, errReset
	}
	return c.Conn.Write(b)
}

// Read returns what the server sent, unless it is lost. A connection that loses everything loses its end, too: the
// client sees its own deadline, or its own Close.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		is, delay := c.faults()
		switch {
		case c.isClosed():
			return 0, net.ErrClosed
		case is == cut:
			return 0, errReset
		case is == lost && err == nil:
			continue
		case is == lost && !os.IsTimeout(err):
			return 0, c.wait(nil)
		case err != nil || delay == 0:
			return n, err
		}
		timer := time.NewTimer(delay)
		err = c.wait(timer.C)
		timer.Stop()
		if err != nil {
			return 0, err // what came is lost: its reader gives the connection up after a time-out
		}
		return n, nil
	}
}

// wait waits until then, or for the end of reads if that comes first: the deadline, a reset, or Close.
func (c *conn) wait(then <-chan time.Time) error {
	for {
		c.mu.Lock()
		if c.moved == nil {
			c.moved = make(chan struct{})
		}
		moved, deadline := c.moved, c.deadline
		c.mu.Unlock()
		if is, _ := c.faults(); is == cut {
			return errReset
		}
		due := time.NewTimer(time.Until(deadline))
		if deadline.IsZero() {
			due.Stop()
		}
		select {
		case <-then:
			due.Stop()
			return nil
		case <-due.C:
			return os.ErrDeadlineExceeded
		case <-c.over:
			due.Stop()
			return net.ErrClosed
		case <-moved:
			due.Stop()
		}
	}
}

// SetDeadline is also possible on a connection that was reset, as on a socket.
func (c *conn) SetDeadline(t time.Time) error {
	c.limit(t)
	return c.unlessCut(c.Conn.SetDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.limit(t)
	return c.unlessCut(c.Conn.SetReadDeadline(t))
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.unlessCut(c.Conn.SetWriteDeadline(t))
}

func (c *conn) unlessCut(err error) error {
	if is, _ := c.faults(); is == cut && !c.isClosed() {
		return nil
	}
	return err
}

func (c *conn) limit(t time.Time) {
	c.mu.Lock()
	c.deadline = t
	c.mu.Unlock()
	c.wake()
}

// wake has a reader that waits look again.
func (c *conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

func (c *conn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *conn) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if !first {
		return net.ErrClosed
	}
	close(c.over)
	c.path.mu.Lock()
	delete(c.path.conns, c)
	was := c.state
	c.path.mu.Unlock()
	if err := c.Conn.Close(); was != cut {
		return err
	}
	return nil
}
