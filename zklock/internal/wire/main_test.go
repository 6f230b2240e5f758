package wire

import (
	"bufio"
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that must happen. Nothing is measured against it.
const patience = time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// peer is the server's side of a connection, which a test plays.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// reads returns a packet of the client.
func (p *peer) reads() *decoder {
	p.t.Helper()
	packet, err := readPacket(p.in)
	require.NoError(p.t, err)
	return &decoder{left: packet}
}

// asked returns the number and the kind of a request, and what it asks for.
func (p *peer) asked() (number, op int32, body *decoder) {
	p.t.Helper()
	d := p.reads()
	return d.int(), d.int(), d
}

func (p *peer) writes(fill func(e *encoder)) {
	p.t.Helper()
	var e encoder
	e.packet(fill)
	_, err := p.conn.Write(e)
	require.NoError(p.t, err)
}

// answers writes an answer with a body of bytes.
func (p *peer) answers(number int32, zxid int64, code Code, body []byte) {
	p.t.Helper()
	p.writes(func(e *encoder) {
		e.int(number)
		e.long(zxid)
		e.int(int32(code))
		*e = append(*e, body...)
	})
}

// grants answers a handshake.
func (p *peer) grants(s Session) {
	p.t.Helper()
	p.writes(func(e *encoder) {
		e.int(0)
		e.int(int32(s.Timeout / time.Millisecond))
		e.long(s.ID)
		e.bytes(s.Password)
		e.bool(false)
	})
}

var known = Session{ID: 7, Password: []byte("0123456789abcdef"), Timeout: 30 * time.Second}

// dialer is one whose next connection leads to a peer.
func dialer(t *testing.T) (*Dialer, *peer) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = theirs.Close() })
	d := &Dialer{Dial: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
	return d, &peer{t, theirs, bufio.NewReader(theirs)}
}

// attached is a connection with a session, and its peer.
func attached(t *testing.T, told func(string, bool)) (*Conn, *peer) {
	t.Helper()
	d, p := dialer(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = readPacket(p.in)
		p.grants(known)
	}()
	c, err := d.Attach(within(t), "a:2181", known, told)
	require.NoError(t, err)
	<-done
	t.Cleanup(func() {
		c.Drop()
		d.Wait()
	})
	return c, p
}

// sent has requests sent, and returns what becomes of them.
func sent(t *testing.T, c *Conn, reqs ...Request) <-chan result {
	got := make(chan result, 1)
	ctx := within(t)
	go func() {
		replies, err := c.Do(ctx, reqs...)
		got <- result{replies, err}
	}()
	return got
}

type result struct {
	replies []Reply
	err     error
}
