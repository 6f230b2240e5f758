package zklock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/fates"
)

// What a client sends, by kind.
const (
	attaching = "attach"   // the handshake of a connection
	acquiring = "acquire"  // makes a node that ends with the session
	making    = "make"     // makes another one: a parent, or the base
	releasing = "release"  // deletes one
	writing   = "write"    // a note, or the base
	agreeing  = "agree"    // changes nothing
	listing   = "children" // reads
	looking   = "exists"
	reading   = "get"
	sweeping  = "ephemerals"
	leaving   = "close"
	proving   = "auth"
	watching  = "watch" // many nodes
)

var kinds = map[uint32]string{
	2: releasing, 3: looking, 4: reading, 5: writing, 12: listing, 14: agreeing, 15: making, 19: making, 100: proving,
	101: watching, 103: sweeping, 0xfffffff5: leaving,
}

// unknownOp is no request of any version.
const unknownOp = 199

// wire is the path of clients to ZooKeeper. After a request whose fate is silence, nothing is heard on its connection
// any more. What is sent after a slow request waits behind it. A server that refuses a request does not know it, as if
// it were too old.
type wire struct {
	fates.Wire
	dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer

	mu   sync.Mutex // guards last
	last *tapped    // the connection that was made last
}

// Dial is for Options.Dial.
func (w *wire) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := w.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	inner, err := dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &tapped{Conn: inner, wire: w, first: true, closed: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = c
	return c, nil
}

// stands makes a node that ends with the session of the connection that was made last, as a request would that comes
// late: the client does not know of it, nor of the answer.
func (w *wire) stands(t testing.TB, prefix string) {
	t.Helper()
	w.mu.Lock()
	c := w.last
	w.mu.Unlock()
	body := binary.BigEndian.AppendUint32(nil, 1<<30) // a number that the client does not reach
	body = binary.BigEndian.AppendUint32(body, 15)
	body = binary.BigEndian.AppendUint32(body, uint32(len(prefix)))
	body = append(body, prefix...)
	body = binary.BigEndian.AppendUint32(body, 0) // no data
	body = binary.BigEndian.AppendUint32(body, 1) // one ACL
	body = binary.BigEndian.AppendUint32(body, 31)
	for _, text := range []string{"world", "anyone"} {
		body = binary.BigEndian.AppendUint32(body, uint32(len(text)))
		body = append(body, text...)
	}
	body = binary.BigEndian.AppendUint32(body, 3)
	c.set(func() { c.deaf = true })
	_, err := c.Conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	require.NoError(t, err)
}

// tapped is a connection whose packets are looked at. The server's side stays open for what arrives late.
type tapped struct {
	net.Conn
	wire   *wire
	first  bool   // the next packet is the handshake
	up     []byte // of a packet that is not whole yet
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex // guards what follows
	deaf bool       // nothing is heard any more
	cut  bool       // ends with the next answer
	kept bool       // something arrives late
}

var errCut = errors.New("the connection broke")

func (c *tapped) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.mu.Lock()
	kept := c.kept
	c.mu.Unlock()
	if kept {
		return nil
	}
	return c.Conn.Close()
}

func (c *tapped) Write(p []byte) (int, error) {
	c.up = append(c.up, p...)
	for len(c.up) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(c.up))
		if len(c.up) < n {
			break
		}
		packet := c.up[:n:n]
		c.up = c.up[n:]
		if err := c.send(packet); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// kindOf is the kind of a packet. A node that ends with its session is made with the flag 3, which comes last.
func (c *tapped) kindOf(packet []byte) string {
	if c.first {
		c.first = false
		return attaching
	}
	op := binary.BigEndian.Uint32(packet[8:])
	if op == 15 && packet[len(packet)-1] == 3 {
		return acquiring
	}
	return kinds[op]
}

func (c *tapped) send(packet []byte) error {
	r := c.wire.Note(c.kindOf(packet))
	if r == nil {
		_, err := c.Conn.Write(packet)
		return err
	}
	r.Meets()
	switch r.Fate {
	case fates.Lost:
		_ = c.Close()
		return errCut
	case fates.Late:
		c.mu.Lock()
		c.kept = true
		c.mu.Unlock()
		_ = c.Close()
		r.Done.Go(func() {
			<-r.Arrives
			if _, err := c.Conn.Write(packet); err == nil {
				_, _ = c.Conn.Read(make([]byte, 1)) // an answer, or the end
			}
			_ = c.Conn.Close()
		})
		return errCut
	case fates.Slow:
		select {
		case <-r.Arrives:
		case <-c.closed:
			return errCut
		}
	case fates.CutAfter:
		c.set(func() { c.cut = true })
	case fates.Silence:
		c.set(func() { c.deaf = true })
	case fates.Refused:
		binary.BigEndian.PutUint32(packet[8:], unknownOp)
	}
	_, err := c.Conn.Write(packet)
	return err
}

func (c *tapped) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *tapped) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		deaf, cut, kept := c.deaf, c.cut, c.kept
		c.mu.Unlock()
		switch {
		case kept, cut:
			_ = c.Close()
			return 0, errCut
		case !deaf, err != nil:
			return n, err
		}
	}
}

// ends ends the session of the connection that was made last.
func (w *wire) ends(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	c := w.last
	w.mu.Unlock()
	body := binary.BigEndian.AppendUint32(nil, 1<<30)
	body = binary.BigEndian.AppendUint32(body, 0xfffffff5)
	_, err := c.Conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	require.NoError(t, err)
}
