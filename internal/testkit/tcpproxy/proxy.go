// Package tcpproxy injects faults into the path between a client and any server that speaks TCP: it loses what is sent,
// lets it arrive late, or cuts connections. It knows no protocol; package faultproxy knows Redis's.
//
//	path := tcpproxy.Start(t, server.Addr()) // ends with the test
//	pool, err := pgxpool.New(ctx, "postgres://postgres@"+path.Addr()+"/postgres")
//	path.Blackhole(true)
package tcpproxy

import (
	"net"
	"sync"
	"testing"
	"time"
)

// Direction is one of the two ways of a connection.
type Direction int

// The directions.
const (
	Requests Direction = iota // from the client to the server
	Replies
)

// Proxy is a path to a server. Its methods may be called by any goroutine.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	changed   *sync.Cond // of what follows
	target    string
	latency   time.Duration
	held      [2]bool
	blackhole bool
	refuses   bool
	ended     bool
	conns     map[*conn]struct{}
}

// Start starts a path to a server, and ends it with the test.
func Start(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("tcpproxy: %v", err)
	}
	p := &Proxy{listener: listener, target: target, conns: make(map[*conn]struct{})}
	p.changed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.end)
	return p
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target has connections that are made from now on lead to another server.
func (p *Proxy) Target(addr string) { p.set(func() { p.target = addr }) }

// Latency delays everything by d in each direction.
func (p *Proxy) Latency(d time.Duration) { p.set(func() { p.latency = d }) }

// Hold switches a state on or off in which nothing arrives in a direction, not even the end of a connection. It arrives
// when the state ends, however long ago its sender may have given up.
func (p *Proxy) Hold(which Direction, on bool) { p.set(func() { p.held[which] = on }) }

// Blackhole switches a state on or off in which nothing gets through: connections stay open, new ones are accepted, and
// every byte is lost in both directions, as is the end of a connection. What had arrived before is carried out. The end
// of the state cuts the connections that were open in it.
func (p *Proxy) Blackhole(on bool) {
	var cut []*conn
	p.set(func() {
		p.blackhole = on
		for c := range p.conns {
			if on {
				c.holed = true
			} else if c.holed {
				cut = append(cut, c)
			}
		}
	})
	for _, c := range cut {
		c.cut()
	}
}

// Forget has the connections that are open lose every byte in both directions, and their ends, as Blackhole does, while
// new ones work: a balancer that forgets connections says nothing to either side. It returns how many they are. The end
// of a Blackhole cuts them.
func (p *Proxy) Forget() (n int) {
	p.set(func() {
		for c := range p.conns {
			c.holed = true
		}
		n = len(p.conns)
	})
	return n
}

// Refuse switches a state on or off in which new connections are cut at once. The existing ones stay.
func (p *Proxy) Refuse(on bool) { p.set(func() { p.refuses = on }) }

// CutAll cuts all connections, and returns how many. What had arrived before is carried out.
func (p *Proxy) CutAll() int {
	p.mu.Lock()
	all := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		c.cut()
	}
	return len(all)
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *Proxy) end() {
	_ = p.listener.Close()
	p.set(func() { p.ended = true })
	p.CutAll()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve carries one connection, until both ends are closed.
func (p *Proxy) serve(client net.Conn) {
	c := &conn{proxy: p, ends: [2]net.Conn{Requests: client}, over: make(chan struct{})}
	p.mu.Lock()
	target, over, holed := p.target, p.ended || p.refuses, p.blackhole
	c.holed = holed
	if !over {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	defer c.forget()
	if over {
		return
	}
	if holed {
		<-c.over
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return // the client's connection is cut: nobody listens there
	}
	if !c.joins(server) {
		_ = server.Close()
		return
	}
	var ways sync.WaitGroup
	ways.Go(func() { c.carry(Requests) })
	ways.Go(func() { c.carry(Replies) })
	ways.Wait()
}

// conn is one connection: the client's, and the one to the server.
type conn struct {
	proxy *Proxy
	over  chan struct{} // closed when it is cut
	holed bool          // it was open in a black hole, or is forgotten; guarded by the proxy's mutex

	mu   sync.Mutex  // guards what follows
	ends [2]net.Conn // where each direction begins; the server's is nil until there is one
	dead bool
}

// joins gives the connection its end at the server, unless it was cut meanwhile.
func (c *conn) joins(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[Replies] = server
	return !c.dead
}

// cut ends the connection at once, for both ends.
func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead = true
	close(c.over)
	for _, end := range c.ends {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
		}
	}
	c.proxy.set(func() {}) // wakes what waits to deliver
}

func (c *conn) forget() {
	c.cut()
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	delete(c.proxy.conns, c)
}

// piece is something that was sent; the end of what is sent, without bytes.
type piece struct {
	bytes []byte
	at    time.Time
}

// carry carries one direction, until its end was delivered or the connection was cut. It takes in what is sent while it
// waits to deliver: a client that gives up has sent what is under way.
func (c *conn) carry(which Direction) {
	from, to := c.ends[which], c.ends[1-which]
	sent := make(chan piece, 1<<10)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(sent)
		for {
			buffer := make([]byte, 1<<14)
			n, err := from.Read(buffer)
			if n > 0 {
				sent <- piece{buffer[:n], time.Now()}
			}
			if err != nil {
				sent <- piece{nil, time.Now()}
				return
			}
		}
	})
	for one := range sent {
		if !c.due(which, one.at) {
			continue // it is lost
		}
		if one.bytes != nil {
			_, _ = to.Write(one.bytes) // to nobody, if the other end is gone
		} else if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	reader.Wait()
}

// due waits until what was sent at some time may arrive. It returns false if that is lost.
func (c *conn) due(which Direction, sent time.Time) bool {
	p := c.proxy
	for {
		p.mu.Lock()
		for p.held[which] && !p.ended && !c.cutOff() {
			p.changed.Wait()
		}
		lost, rest := c.holed || p.ended, time.Until(sent.Add(p.latency))
		p.mu.Unlock()
		switch {
		case lost || c.cutOff():
			return false
		case rest <= 0:
			return true
		}
		select {
		case <-time.After(rest):
		case <-c.over:
		}
	}
}

// cutOff reports whether the connection was cut.
func (c *conn) cutOff() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}
