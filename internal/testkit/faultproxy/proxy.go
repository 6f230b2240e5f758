package faultproxy

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

const dialLimit = 5 * time.Second

// Proxy stands in front of one Redis server. Its methods may be called by any goroutine.
type Proxy struct {
	t        testing.TB
	upstream string
	port     servers.Port  // nobody else has it while new connections are refused
	done     chan struct{} // closed when the proxy ends
	running  sync.WaitGroup

	latency atomic.Int64
	swallow atomic.Bool
	dribble atomic.Bool

	mu        sync.Mutex // guards what follows
	listener  net.Listener
	conns     map[*conn]bool
	holes     map[net.Conn]bool // accepted in the blackhole
	accepted  int
	rules     []*Rule
	log       log
	blackhole bool
	ended     bool
}

// Start starts a proxy on a free loopback port in front of the server at upstream. At the end of
// the test the proxy cuts all connections and stops.
func Start(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p := &Proxy{
		t: t, upstream: upstream, done: make(chan struct{}),
		conns: make(map[*conn]bool), holes: make(map[net.Conn]bool),
	}
	port, listener, err := servers.Listen()
	if err != nil {
		t.Fatalf("faultproxy: %v", err)
	}
	p.port = port
	p.accept(listener)
	t.Cleanup(p.stop)
	return p
}

// Addr returns the address for clients, host and port.
func (p *Proxy) Addr() string { return p.port.Addr() }

// On adds a rule: action is applied to a request that match matches, once unless [Rule.Times]
// says otherwise. Of several rules that match, the one added first applies.
func (p *Proxy) On(match Match, action Action) *Rule {
	rule := &Rule{match: match, action: action, times: 1, changed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, rule)
	return rule
}

func (p *Proxy) record(request Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.add(request)
}

// decide returns the rule that applies to a request, or nil.
func (p *Proxy) decide(request Request) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if rule.take(request) {
			return rule
		}
	}
	return nil
}

// accept serves a listener until the listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = listener.Close()
		return
	}
	p.listener = listener
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client, listener) })
		}
	})
}

// serve passes a connection, which came through a listener, on until it ends.
func (p *Proxy) serve(client net.Conn, through net.Listener) {
	if p.engulf(client) {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	upstream, err := net.DialTimeout("tcp", p.upstream, dialLimit)
	if err != nil {
		_ = client.Close() // as close as possible to a dead server
		return
	}
	c := &conn{
		proxy: p, client: client, server: upstream.(*net.TCPConn),
		hungUp: make(chan struct{}), closed: make(chan struct{}), replies: newReplies(),
	}
	if !p.register(c, through) {
		c.close()
		return
	}
	p.running.Go(c.passRequests)
	c.passReplies()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// engulf takes a new connection if the proxy is a blackhole: Redis must not see it.
func (p *Proxy) engulf(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		_ = client.Close()
		return true
	}
	if p.blackhole {
		p.holes[client] = true
	}
	return p.blackhole
}

// register puts a connection among those that CutAll cuts. It reports false for one that is still being made when
// Refuse is called: a CutAll that follows would miss it.
func (p *Proxy) register(c *conn, through net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.listener != through {
		return false
	}
	p.accepted++
	c.number = p.accepted
	if p.blackhole { // since a moment ago
		c.blackhole()
	}
	p.conns[c] = true
	return true
}

// injectLater executes a request on a connection of its own once the gate opens.
func (p *Proxy) injectLater(gate *Gate, raw []byte) {
	p.running.Go(func() {
		select {
		case <-gate.opened:
		case <-p.done:
			return
		}
		if err := p.inject(raw); err != nil {
			p.t.Errorf("faultproxy: a late request could not be delivered: %v", err)
			return
		}
		gate.arrived()
	})
}

func (p *Proxy) inject(raw []byte) error {
	server, err := net.DialTimeout("tcp", p.upstream, dialLimit)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	if err := server.SetDeadline(time.Now().Add(waitLimit)); err != nil {
		return err
	}
	if _, err := server.Write(raw); err != nil {
		return err
	}
	_, err = readValue(bufio.NewReader(server))
	return err
}

// stop cuts everything and waits until no goroutine of the proxy is left.
func (p *Proxy) stop() {
	p.mu.Lock()
	p.ended = true
	conns := p.snapshotLocked()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	for client := range p.holes {
		_ = client.Close()
	}
	p.mu.Unlock()
	close(p.done)
	for _, c := range conns {
		c.close()
	}
	p.running.Wait()
	_ = p.port.Release()
}

func (p *Proxy) snapshotLocked() []*conn {
	conns := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	return conns
}

func (p *Proxy) snapshot() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshotLocked()
}
