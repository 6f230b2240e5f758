package pgproxy

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

const dialLimit = 5 * time.Second

// Proxy stands in front of one PostgreSQL. Its methods may be called by any goroutine.
type Proxy struct {
	t        testing.TB
	upstream string
	port     servers.Port // nobody else has it while new connections are refused
	running  sync.WaitGroup

	mu        sync.Mutex // guards what follows
	listener  net.Listener
	conns     map[*conn]bool
	rules     []*Rule
	accepted  int
	cancels   int
	blackhole bool
	ended     bool
}

// Start starts a proxy on a free loopback port in front of the server at upstream. At the end of the test it cuts all
// connections and stops.
func Start(t testing.TB, upstream string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, upstream: upstream, conns: make(map[*conn]bool)}
	port, listener, err := servers.Listen()
	if err != nil {
		t.Fatalf("pgproxy: %v", err)
	}
	p.port = port
	p.accept(listener)
	t.Cleanup(p.stop)
	return p
}

// To returns the connection string of a database of the server, by way of the proxy.
func (p *Proxy) To(database string) string {
	to, err := url.Parse(database)
	if err != nil {
		panic("pgproxy: not a connection string: " + err.Error())
	}
	to.Host = p.port.Addr()
	return to.String()
}

// On adds a rule: action is applied to a request that contains the text, once unless [Rule.Times] says otherwise. Of
// several rules that match, the one added first applies.
func (p *Proxy) On(text string, action Action) *Rule {
	rule := &Rule{text: []byte(text), action: action, times: 1, changed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, rule)
	return rule
}

func (p *Proxy) decide(request []byte) *Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, rule := range p.rules {
		if rule.take(request) {
			return rule
		}
	}
	return nil
}

// Accepted returns how many connections were accepted.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Cancels returns how many CancelRequests were sent.
func (p *Proxy) Cancels() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cancels
}

func (p *Proxy) cancelled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancels++
}

// Blackhole switches a state on or off in which nothing gets through: connections stay open, new ones are accepted, and
// every byte is lost in both directions, as is the end of a connection. Requests that were forwarded before are carried
// out. Connections that met it never recover: they are silent for good, as those to a host that is gone.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blackhole = on
	if on {
		for c := range p.conns {
			c.silence()
		}
	}
}

// Refuse switches a state on or off in which new connections are refused. The existing ones stay.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	listener := p.listener
	if on == (listener == nil) || p.ended {
		p.mu.Unlock()
		return
	}
	if on {
		p.listener = nil
	}
	p.mu.Unlock()
	if on {
		_ = listener.Close()
		return
	}
	listener, err := p.port.Listen()
	if err != nil {
		p.t.Errorf("pgproxy: %v", err)
		return
	}
	p.accept(listener)
}

// CutAll cuts all connections. Requests that were forwarded before are carried out.
func (p *Proxy) CutAll() {
	for _, c := range p.snapshot() {
		c.close()
	}
}

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
			p.running.Go(func() { p.serve(client) })
		}
	})
}

// serve passes a connection on until it ends.
func (p *Proxy) serve(client net.Conn) {
	c := &conn{proxy: p, client: client, closed: make(chan struct{}), silent: make(chan struct{})}
	if !p.register(c) {
		c.close()
		return
	}
	defer p.forget(c)
	defer c.close()
	if c.isSilent() { // the server must not see it
		c.await(nil)
		return
	}
	server, err := net.DialTimeout("tcp", p.upstream, dialLimit)
	if err != nil || !c.reach(server) {
		return
	}
	p.running.Go(c.passAnswers)
	c.passRequests()
}

func (p *Proxy) register(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.accepted++
	p.conns[c] = true
	if p.blackhole {
		c.silence()
	}
	return true
}

func (p *Proxy) forget(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) snapshot() (all []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		all = append(all, c)
	}
	return all
}

// stop cuts everything and waits until no goroutine of the proxy is left.
func (p *Proxy) stop() {
	p.mu.Lock()
	p.ended = true
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.mu.Unlock()
	p.CutAll()
	p.running.Wait()
	_ = p.port.Release()
}
