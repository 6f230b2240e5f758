package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

var (
	// ErrLost is matched by the error of a request that was on a connection when that ended.
	ErrLost = errors.New("the connection to ZooKeeper is lost")
	// ErrUnsent is the error of a request for a connection that had ended before.
	ErrUnsent = errors.New("not sent: the connection to ZooKeeper is lost")
)

// Conn is one TCP connection to which a session was attached. All methods are safe for concurrent use.
type Conn struct {
	Session Session // as the server said
	Address string  // of the server

	dialer *Dialer
	raw    net.Conn // is closed without the farewell of TLS, which may have to wait
	stream net.Conn
	in     *bufio.Reader
	told   func(path string, deleted bool)
	more   chan struct{} // has an element if out may have
	over   chan struct{} // closed when the connection is lost

	mu      sync.Mutex // guards what follows
	out     encoder    // what is to be written
	pending []await    // what was sent, in this order, and is not answered
	heard   time.Time  // when the last packet came
	err     error      // why the connection is lost
}

// await is a request that waits for its answer.
type await struct {
	number int32
	of     *exchange
}

// exchange is what one caller sent together. The mutex of the connection guards the replies until done is closed.
type exchange struct {
	want    int
	replies []Reply
	done    chan struct{} // closed when all are there, or the connection is lost
}

// Lost is closed when the connection is lost.
func (c *Conn) Lost() <-chan struct{} { return c.over }

// Why is why the connection is lost; nil if it is not.
func (c *Conn) Why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Heard is when the server sent something last.
func (c *Conn) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

// Do sends requests together, and waits for the answers, which come in the order of the requests. With an error some of
// them may be there, and the others may be carried out or not, unless the error is [ErrUnsent]. The error of an answer
// is in the answer.
func (c *Conn) Do(ctx context.Context, reqs ...Request) ([]Reply, error) {
	x := c.send(reqs)
	if x == nil {
		return nil, ErrUnsent
	}
	select {
	case <-x.done:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(x.replies) == x.want:
		return x.replies, nil
	case c.err != nil:
		return x.replies, fmt.Errorf("%w: %w", ErrLost, c.err)
	}
	return x.replies[:len(x.replies):len(x.replies)], fmt.Errorf("no answer from %s: %w", c.Address, context.Cause(ctx))
}

// send returns nil if the connection is lost.
func (c *Conn) send(reqs []Request) *exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil
	}
	x := &exchange{want: len(reqs), done: make(chan struct{})}
	for _, r := range reqs {
		number := int32(numberAuth)
		if r.op != opAuth {
			number = c.dialer.number()
		}
		r.append(&c.out, number)
		c.pending = append(c.pending, await{number, x})
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	return x
}

// Drop ends the connection. The session stays.
func (c *Conn) Drop() { c.fail(net.ErrClosed) }

func (c *Conn) fail(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	pending := c.pending
	c.pending, c.out = nil, nil
	c.mu.Unlock()
	_ = c.raw.Close()
	close(c.over)
	for i, one := range pending {
		if i == len(pending)-1 || pending[i+1].of != one.of {
			close(one.of.done)
		}
	}
}

// write writes what is to be sent, until the connection is lost.
func (c *Conn) write() {
	var spare encoder
	for {
		select {
		case <-c.more:
		case <-c.over:
			return
		}
		c.mu.Lock()
		out := c.out
		c.out = spare[:0]
		c.mu.Unlock()
		if len(out) > 0 {
			if _, err := c.stream.Write(out); err != nil {
				c.fail(err)
				return
			}
		}
		if spare = nil; cap(out) <= outright {
			spare = out
		}
	}
}

// read takes answers, until the connection is lost.
func (c *Conn) read() {
	for {
		packet, err := readPacket(c.in)
		if err == nil {
			err = c.take(packet)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// take gives an answer to the request that waits for it. Its error ends the connection.
func (c *Conn) take(packet []byte) error {
	d := decoder{left: packet}
	h := d.header()
	if d.bad {
		return d.end("the head of an answer")
	}
	switch h.number {
	case numberPing:
		return nil
	case numberEvent:
		path, deleted := d.event()
		if err := d.end("an event"); err != nil {
			return err
		}
		c.mu.Lock()
		c.heard = time.Now()
		c.mu.Unlock()
		c.told(path, deleted)
		return nil
	}
	reply := Reply{Zxid: h.zxid, body: d.left}
	if h.code != 0 {
		reply.Err = h.code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 || c.pending[0].number != h.number {
		if h.code == Unimplemented { // it is answered before those that are under way, and ends the connection
			return h.code
		}
		return fmt.Errorf("%w: an answer to no request that waits for one", ErrNonsense)
	}
	x := c.pending[0].of
	c.pending = c.pending[1:]
	c.heard = time.Now()
	if x.replies = append(x.replies, reply); len(x.replies) == x.want {
		close(x.done)
	}
	return nil
}
