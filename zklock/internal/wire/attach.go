package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Session is what the nodes of a client hang on. The zero Session is none.
type Session struct {
	ID       int64
	Password []byte
	Timeout  time.Duration // that a server grants it
}

const passwordSize = 16

var (
	// ErrOver is the error of a session that a server says is over, with all of its nodes.
	ErrOver = errors.New("the session has ended")
	// ErrRefused is matched by the error of a server that ended a connection instead of answering a handshake: it has
	// too many of this address, or knows no leader.
	ErrRefused = errors.New("the server ended the connection without an answer")
)

// OtherSessionError is the error of a server that gave another session than the one that was to be attached.
type OtherSessionError struct{ Address string }

// Error implements error.
func (e *OtherSessionError) Error() string {
	return fmt.Sprintf("the server at %s gave another session instead of the one that it was asked for", e.Address)
}

// Dialer attaches sessions. Its exported fields are constant.
type Dialer struct {
	Dial func(ctx context.Context, network, address string) (net.Conn, error) // nil: a net.Dialer
	TLS  *tls.Config                                                          // nil: none

	numbers atomic.Int32
	running sync.WaitGroup
}

// number is the next number of a request. Numbers are not negative.
func (d *Dialer) number() int32 { return d.numbers.Add(1) & 0x7fffffff }

// Wait waits for the goroutines of all connections, which have to be dropped.
func (d *Dialer) Wait() { d.running.Wait() }

// Attach attaches a session to a server by a new connection, or makes one if it is the zero Session, for which its
// Timeout is asked. The context bounds that, and not the connection. Told is called with the path of a node that is
// watched and has changed, and whether it was deleted; it must not wait.
func (d *Dialer) Attach(
	ctx context.Context, address string, s Session, told func(path string, deleted bool),
) (*Conn, error) {
	raw, err := d.dial(ctx, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	c := &Conn{
		Address: address, dialer: d, raw: raw, stream: raw, told: told,
		more: make(chan struct{}, 1), over: make(chan struct{}), heard: time.Now(),
	}
	err = c.handshake(ctx, s, nil)
	if !stop() {
		err = fmt.Errorf("no answer from %s: %w", address, context.Cause(ctx))
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	d.running.Go(c.read)
	d.running.Go(c.write)
	return c, nil
}

// End ends a session, by a handshake and a request that are sent together: where requests arrive and answers do not,
// the session ends all the same, and is not given its time again in vain. It returns nil if the server says that the
// session is over.
func (d *Dialer) End(ctx context.Context, address string, s Session) error {
	raw, err := d.dial(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	c := &Conn{Address: address, dialer: d, raw: raw, stream: raw}
	var e encoder
	CloseSession().append(&e, d.number())
	if err = c.handshake(ctx, s, e); err == nil {
		_, err = readPacket(c.in)
	}
	if errors.Is(err, ErrOver) {
		return nil
	}
	return err
}

func (d *Dialer) dial(ctx context.Context, address string) (net.Conn, error) {
	if d.Dial != nil {
		return d.Dial(ctx, "tcp", address)
	}
	var plain net.Dialer
	return plain.DialContext(ctx, "tcp", address)
}

// secure begins TLS, if that is configured.
func (c *Conn) secure(ctx context.Context) error {
	if c.dialer.TLS == nil {
		return nil
	}
	config := c.dialer.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(c.Address)
	}
	secured := tls.Client(c.raw, config)
	c.stream = secured
	return secured.HandshakeContext(ctx)
}

// handshake sends one, with what is to be sent behind it, and takes the answer.
func (c *Conn) handshake(ctx context.Context, s Session, behind []byte) error {
	if err := c.secure(ctx); err != nil {
		return err
	}
	c.in = bufio.NewReader(c.stream)
	var e encoder
	e.packet(func(e *encoder) {
		e.int(0)  // version of the protocol
		e.long(0) // the latest change that was seen: see the package
		e.int(int32(s.Timeout / time.Millisecond))
		e.long(s.ID)
		password := s.Password
		if s.ID == 0 {
			password = make([]byte, passwordSize)
		}
		e.bytes(password)
		e.bool(false) // a server that knows no leader is of no use
	})
	if _, err := c.stream.Write(append(e, behind...)); err != nil {
		return err
	}
	packet, err := readPacket(c.in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	got, err := decodeSession(packet)
	switch {
	case err != nil:
		return err
	case got.ID == 0:
		return ErrOver
	case s.ID != 0 && got.ID != s.ID:
		return &OtherSessionError{c.Address}
	}
	c.Session = got
	return nil
}

// decodeSession takes the answer to a handshake. Servers before 3.4 do not say whether they only serve reads.
func decodeSession(packet []byte) (s Session, err error) {
	d := decoder{left: packet}
	d.int() // version of the protocol
	s.Timeout = time.Duration(d.int()) * time.Millisecond
	s.ID, s.Password = d.long(), d.bytes()
	if readOnly := d.bool(); readOnly {
		return Session{}, fmt.Errorf("%w: a server that only serves reads", ErrRefused)
	}
	if err := d.end("a handshake"); err != nil {
		return Session{}, err
	}
	return s, nil
}

// Authenticate are the requests that say of a connection who its client is.
func Authenticate(all []Auth) []Request {
	reqs := make([]Request, len(all))
	for i, one := range all {
		reqs[i] = one.request()
	}
	return reqs
}
