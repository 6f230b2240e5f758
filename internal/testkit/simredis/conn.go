package simredis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

var errMalformed = errors.New("malformed request")

// conn is one connection. Three goroutines serve it, so that the client can always send and the
// server can always reply, whatever the other does: receive, execute and reply. A request passes
// them in that order.
type conn struct {
	server *Server
	number int
	pipe   net.Conn
	in     *queue[[]string]
	out    *queue[[]byte]
	peer   *server.Peer
	silent atomic.Bool // nothing is sent to the client any more
}

func newConn(s *Server, number int, pipe net.Conn) *conn {
	c := &conn{
		server: s, number: number, pipe: pipe,
		in: newQueue[[]string](), out: newQueue[[]byte](),
	}
	c.peer = server.NewPeer(bufio.NewWriter((*sink)(c)))
	return c
}

// sink receives what miniredis writes.
type sink conn

func (s *sink) Write(p []byte) (int, error) {
	if !s.silent.Load() {
		s.out.push(append([]byte(nil), p...))
	}
	return len(p), nil
}

// receive reads requests until the client hangs up.
func (c *conn) receive() {
	defer c.in.close()
	reader := bufio.NewReader(c.pipe)
	for {
		args, err := readRequest(reader)
		if err != nil {
			if errors.Is(err, errMalformed) {
				c.server.t.Errorf("simredis: connection %d: %v", c.number, err)
			}
			return
		}
		c.in.push(args)
	}
}

// execute executes requests until there are none left, which can be long after the client hung
// up, or the server ends.
func (c *conn) execute() {
	defer c.end()
	for subscribed := false; ; {
		args, ok := c.in.pop()
		// Recorded before execution: a connection that is cut afterwards is subscribed all the
		// same.
		subscribed = subscribed || ok && strings.HasSuffix(strings.ToLower(args[0]), "subscribe")
		if !ok || !c.server.await() || !c.obey(args) {
			if subscribed {
				c.unsubscribe()
			}
			return
		}
	}
}

// obey applies the verdict over a request. It returns false if the connection ends.
func (c *conn) obey(args []string) bool {
	switch verdict := c.server.decide(c.number, args); verdict {
	case Pass:
		c.dispatch(args)
	case DropReply:
		c.silent.Store(true)
		c.dispatch(args)
	case DropRequest:
		c.silent.Store(true)
		for ok := true; ok; { // the client must not notice
			_, ok = c.in.pop()
		}
		return false
	case Cut:
		return false
	case CutAfter:
		c.silent.Store(true)
		c.dispatch(args)
		return false
	default:
		if !c.server.sleep(time.Duration(verdict)) || !c.server.await() {
			return false
		}
		c.dispatch(args)
	}
	return !c.peer.Closed()
}

func (c *conn) dispatch(args []string) {
	c.server.redis.Server().Dispatch(c.peer, args)
	c.peer.Flush()
}

// unsubscribe ends the goroutines that miniredis has for a subscriber: miniredis does so itself
// only for the connections that it serves.
func (c *conn) unsubscribe() {
	c.silent.Store(true)
	for _, command := range []string{"DISCARD", "UNSUBSCRIBE", "PUNSUBSCRIBE"} {
		c.dispatch([]string{command})
	}
}

func (c *conn) end() {
	c.out.close()
	c.in.close()
	c.server.forget(c)
}

// reply sends the replies, and hangs up after the last one.
func (c *conn) reply() {
	defer func() { _ = c.pipe.Close() }()
	for {
		bytes, ok := c.out.pop()
		if !ok {
			return
		}
		if _, err := c.pipe.Write(bytes); err != nil {
			return // the client has hung up, which receive notices as well
		}
	}
}

func readRequest(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("%w: an empty one", errMalformed)
	}
	args := make([]string, n)
	for i := range args {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		arg := make([]byte, max(size, 0)+len("\r\n"))
		if _, err := io.ReadFull(r, arg); err != nil {
			return nil, err
		}
		args[i] = string(arg[:len(arg)-len("\r\n")])
	}
	return args, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if line[0] != kind || err != nil {
		return 0, fmt.Errorf("%w: %q", errMalformed, line)
	}
	return n, nil
}
