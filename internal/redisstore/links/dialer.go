package links

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// dial is what go-redis makes connections with.
type dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// undaunted keeps failed dials from being counted. After as many failures as a pool has places, go-redis lets nothing
// through for up to a second at a time, and answers with the old error although the server is back; a hold with a
// short lease is lost in that time. So instead of failing, a dial returns a connection that fails at its first use,
// with the same error.
func undaunted(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err == nil {
			return conn, nil
		}
		if op := (*net.OpError)(nil); !errors.As(err, &op) || op.Op != "dial" {
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		// go-redis unwraps one layer of an error in the handshake.
		return stillborn{fmt.Errorf("%w", err)}, nil
	}
}

// interruptible ends a dial with its context and when ended is closed, even if the dial ignores both, as a dialer with
// its own TLS does, and go-redis's own while it waits for a Sentinel. Otherwise callers that wait for the connection
// would wait for that dial.
//
// There is room for the dial's result, so its goroutine never waits for a receiver, and ends when the dial
// does. If the caller has left, discard receives the result and closes the connection; without it a connection
// that nobody knows would stay open.
func interruptible(ended <-chan struct{}, d dial) dial {
	type result struct {
		conn net.Conn
		err  error
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(ctx)
		dialled := make(chan result, 1)
		go func() { // bounded by the dial's own time limit
			conn, err := d(ctx, network, addr)
			dialled <- result{conn, err}
		}()
		discard := func() {
			cancel()
			if r := <-dialled; r.err == nil {
				_ = r.conn.Close()
			}
		}
		select {
		case r := <-dialled:
			cancel()
			return r.conn, r.err
		case <-ctx.Done():
			go discard()
			return nil, ctx.Err()
		case <-ended:
			go discard()
			return nil, errEnded
		}
	}
}

// stillborn is a connection that was never made.
type stillborn struct{ err error }

func (s stillborn) Read([]byte) (int, error)         { return 0, s.err }
func (s stillborn) Write([]byte) (int, error)        { return 0, s.err }
func (s stillborn) Close() error                     { return nil }
func (s stillborn) LocalAddr() net.Addr              { return nowhere{} }
func (s stillborn) RemoteAddr() net.Addr             { return nowhere{} }
func (s stillborn) SetDeadline(time.Time) error      { return nil }
func (s stillborn) SetReadDeadline(time.Time) error  { return nil }
func (s stillborn) SetWriteDeadline(time.Time) error { return nil }

type nowhere struct{}

func (nowhere) Network() string { return "none" }
func (nowhere) String() string  { return "not connected" }
