package pgproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// conn is one connection through the proxy.
type conn struct {
	proxy  *Proxy
	client net.Conn

	closed, silent     chan struct{} // both ends are closed; nothing gets through any more
	closing, silencing sync.Once

	mu      sync.Mutex // guards what follows
	server  net.Conn
	greeted bool    // the server has let the client in
	pending []*Rule // of the requests that were forwarded and not answered; nil for one without a rule
	left    bool    // the client has hung up
}

func (c *conn) silence() { c.silencing.Do(func() { close(c.silent) }) }

func (c *conn) isSilent() bool {
	select {
	case <-c.silent:
		return true
	default:
		return false
	}
}

// reach notes the connection to the server. It reports false if the connection was cut meanwhile.
func (c *conn) reach(server net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
	select {
	case <-c.closed:
		_ = server.Close()
		return false
	default:
		return true
	}
}

func (c *conn) close() {
	c.closing.Do(func() {
		close(c.closed)
		_ = c.client.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.server != nil {
			_ = c.server.Close()
		}
	})
}

// await waits until a gate opens, or the connection is over. It reports whether the gate opened.
func (c *conn) await(opened <-chan struct{}) bool {
	select {
	case <-opened:
		return true
	case <-c.closed:
		return false
	}
}

// passRequests reads the client until that hangs up.
func (c *conn) passRequests() {
	from := bufio.NewReader(c.client)
	if !c.passGreeting(from) {
		return
	}
	for {
		kind, request, err := readRequest(from)
		if c.isSilent() {
			c.await(nil)
			return
		}
		if err != nil {
			c.leave()
			return
		}
		if !c.passRequest(kind, request) {
			return
		}
	}
}

const cancelRequest = 80877102

// passGreeting forwards the only message that has no type.
func (c *conn) passGreeting(from io.Reader) bool {
	var head [8]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return false
	}
	rest := make([]byte, max(int(binary.BigEndian.Uint32(head[:]))-len(head), 0))
	if _, err := io.ReadFull(from, rest); err != nil {
		return false
	}
	if binary.BigEndian.Uint32(head[4:]) == cancelRequest {
		c.proxy.cancelled()
	}
	return c.send(append(head[:], rest...))
}

// The messages of a client that end what it sends at a time.
const (
	syncMessage, query, password, terminate = 'S', 'Q', 'p', 'X'
)

// readRequest reads messages up to one after which the client waits.
func readRequest(from io.Reader) (kind byte, request []byte, err error) {
	for {
		kind, message, err := readMessage(from)
		request = append(request, message...)
		switch kind {
		case syncMessage, query, password, terminate:
			return kind, request, err
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

func readMessage(from io.Reader) (kind byte, message []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[1:])) - 4
	if size < 0 {
		return 0, nil, errors.New("a message with a negative length")
	}
	message = append(head, make([]byte, size)...)
	if _, err = io.ReadFull(from, message[len(head):]); err != nil {
		return 0, nil, err
	}
	return head[0], message, nil
}

// passRequest decides the fate of a request. It reports false when the connection is over.
func (c *conn) passRequest(kind byte, request []byte) bool {
	if kind != syncMessage && kind != query {
		return c.send(request)
	}
	rule := c.proxy.decide(request)
	if rule != nil && rule.action.lost {
		c.close()
		rule.fire()
		return false
	}
	if rule != nil && rule.action.gate != nil {
		rule.fire()
		if !c.await(rule.action.gate.opened) {
			return false
		}
	}
	c.mu.Lock()
	c.pending = append(c.pending, rule)
	c.mu.Unlock()
	return c.send(request)
}

func (c *conn) send(raw []byte) bool {
	_, err := c.server.Write(raw)
	return err == nil
}

// leave tells the server that the client has hung up, when it has answered what it was sent.
func (c *conn) leave() {
	c.mu.Lock()
	c.left = true
	busy := len(c.pending) > 0
	c.mu.Unlock()
	if busy {
		c.await(nil) // passAnswers closes the connection
	}
}

// passAnswers reads the server until that hangs up, or nobody waits for an answer any more.
func (c *conn) passAnswers() {
	defer c.close()
	from := bufio.NewReader(c.server)
	var answer []byte
	committed := false
	for {
		kind, message, err := readMessage(from)
		if c.isSilent() { // the client does not even learn that the server has hung up
			c.await(nil)
			return
		}
		if err != nil {
			return
		}
		answer = append(answer, message...)
		rule := c.answering()
		if rule == nil || rule.action.answer == answerPasses || rule.action.commit && !committed {
			_, _ = c.client.Write(answer)
			answer = answer[:0]
		}
		committed = kind != 'Z' && (committed || kind == 'C' && bytes.Contains(message, []byte("COMMIT")))
		if kind == 'Z' && !c.answered(rule) {
			return
		}
	}
}

// answering is the rule of the request that the server is answering, or nil.
func (c *conn) answering() *Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return nil
	}
	return c.pending[0]
}

// answered notes that the server is ready for another request. It reports false when the connection is over.
func (c *conn) answered(rule *Rule) bool {
	c.mu.Lock()
	if c.greeted {
		c.pending = c.pending[1:]
	}
	c.greeted = true
	over := c.left && len(c.pending) == 0
	c.mu.Unlock()
	switch {
	case rule == nil:
	case rule.action.gate != nil:
		rule.action.gate.deliver.Do(func() { close(rule.action.gate.delivered) })
	case rule.action.answer == answerCut:
		c.close()
		rule.fire()
		return false
	case rule.action.answer == answerLost:
		c.silence()
		rule.fire()
	default:
		rule.fire()
	}
	return !over
}
