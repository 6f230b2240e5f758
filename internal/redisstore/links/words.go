package links

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
)

// outspoken makes a dialer keep what a server says before it hangs up. A server without a place left, or one that is
// closed to strangers, answers the first bytes with an error and closes the connection. Go-redis takes that error for
// the answer to its HELLO, which older servers do not know, and goes on; so all that a caller would learn is that a
// pipe is broken.
func outspoken(d dial) dial {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		heard := &hearing{Conn: conn, network: network}
		if socket, ok := conn.(syscall.Conn); ok {
			return &hearingSocket{heard, socket}, nil
		}
		return heard, nil
	}
}

// hearing is a connection that keeps the error with which the server has greeted it.
//
// One goroutine reads, and another one may write.
type hearing struct {
	net.Conn
	network string
	greeted bool                   // the server has said something else; only the reader uses it
	spoke   atomic.Bool            // the server has said anything
	said    atomic.Pointer[string] // the last answer, if there were only errors so far
}

// hearingSocket is a hearing that exposes its socket.
type hearingSocket struct {
	*hearing
	socket syscall.Conn
}

// SyscallConn implements [syscall.Conn].
func (h *hearingSocket) SyscallConn() (syscall.RawConn, error) { return h.socket.SyscallConn() }

// longestWords bounds what is kept of an error.
const longestWords = 200

// Read implements [net.Conn].
func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 && !h.greeted {
		h.spoke.Store(true)
		if h.greeted = p[0] != '-'; h.greeted {
			h.said.Store(nil)
		} else {
			line, _, _ := bytes.Cut(p[1:n], []byte("\r\n"))
			said := string(line[:min(len(line), longestWords)])
			h.said.Store(&said)
		}
	}
	return n, h.explain(err)
}

// Write implements [net.Conn].
func (h *hearing) Write(p []byte) (int, error) {
	n, err := h.Conn.Write(p)
	return n, h.explain(err)
}

// explain adds to the failure of a connection what the server has said, or that it said nothing at all. A server that
// refuses a connection carries out nothing that comes on it, so that is an error of the dial.
func (h *hearing) explain(err error) error {
	if err == nil {
		return nil
	}
	said := h.said.Load()
	switch {
	case timedOut(err) || said == nil && h.spoke.Load():
		return err
	case said == nil && hungUp(err):
		return fmt.Errorf("%w", fmt.Errorf("the server hung up before it had said anything, as a proxy does that does "+
			"not know HELLO, with which go-redis begins: %w", err))
	case said == nil:
		return err
	}
	err = fmt.Errorf("the server said %q and hung up: %w", *said, err)
	if strings.Contains(*said, "max number of clients") {
		err = &net.OpError{Op: "dial", Net: h.network, Err: err}
	}
	return fmt.Errorf("%w", err) // go-redis unwraps one layer of an error in the handshake
}

// hungUp reports that the other side has ended the connection. An alert of TLS is a [net.OpError], too, and says why.
func hungUp(err error) bool {
	op, broke := errors.AsType[*net.OpError](err)
	broke = broke && (op.Op == "read" || op.Op == "write") && !errors.Is(err, net.ErrClosed)
	return broke || errors.Is(err, io.EOF)
}
