package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn is one client's connection and the corresponding one to Redis. One goroutine passes on the client's requests,
// another Redis's replies.
type conn struct {
	proxy  *Proxy
	number int
	client net.Conn
	server *net.TCPConn
	hungUp chan struct{} // closed when the client sends no more
	closed chan struct{} // closed by close

	closing sync.Once

	mu      sync.Mutex // guards what follows; never held over I/O or another lock
	replies replies
	deaf    bool // nothing more is forwarded to Redis
	silent  bool // nothing more is passed to the client
	holed   bool // both, and the end of the connection is lost too
	count   int  // requests
}

// clock records when the present bytes arrived, so that latency does not add up over requests that were sent
// together.
type clock struct {
	net.Conn
	at time.Time
}

func (c *clock) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.at = time.Now()
	return n, err
}

// passRequests runs until the client hangs up or the connection is closed.
func (c *conn) passRequests() {
	defer close(c.hungUp)
	arrival := &clock{Conn: c.client}
	reader := bufio.NewReader(arrival)
	for {
		raw, args, err := readRequest(reader)
		if err != nil {
			c.complain("request", err)
			c.clientGone()
			return
		}
		if len(args) == 0 {
			c.send(raw) // Redis does not answer it
			continue
		}
		c.mu.Lock()
		c.count++
		request := newRequest(args, c.number, c.count)
		c.mu.Unlock()
		if !c.pace(arrival.at) {
			return
		}
		c.proxy.record(request)
		if c.isDeaf() {
			continue
		}
		rule := c.proxy.decide(request)
		x := &Exchange{conn: c, rule: rule, request: request, raw: raw}
		if rule == nil {
			x.forward(nil)
		} else {
			rule.action(x)
		}
	}
}

// passReplies runs until Redis hangs up or the connection is closed.
func (c *conn) passReplies() {
	defer c.close()
	defer c.linger()
	arrival := &clock{Conn: c.server}
	reader := bufio.NewReader(arrival)
	for {
		v, err := readValue(reader)
		if err != nil {
			c.complain("reply", err)
			return
		}
		if !c.pace(arrival.at) {
			return
		}
		c.mu.Lock()
		message := c.replies.isMessage(v)
		e, last := c.replies.claim(v)
		c.mu.Unlock()
		switch {
		case e != nil:
			e.reply(v.raw)
		case message && c.proxy.swallow.Load():
		default:
			c.deliver(v.raw)
		}
		if last {
			for _, f := range c.complete() {
				f()
			}
		}
	}
}

func (c *conn) complete() []func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies.complete()
}

// linger keeps a silent connection open when Redis has hung up: the client must not notice that either.
func (c *conn) linger() {
	c.mu.Lock()
	silent := c.silent
	c.mu.Unlock()
	if !silent {
		return
	}
	select {
	case <-c.hungUp:
		if c.isBlackholed() {
			<-c.closed
		}
	case <-c.closed:
	}
}

// complain reports bytes that are not RESP: a test must not mistake a bug of the proxy for a fault.
func (c *conn) complain(what string, err error) {
	if errors.Is(err, errMalformed) && !errors.Is(err, io.EOF) {
		c.proxy.t.Errorf("faultproxy: connection %d: %s: %v", c.number, what, err)
	}
}
