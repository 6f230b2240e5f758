package frames

import (
	"errors"
	"net"
	"syscall"
)

// Conn is a connection to a server whose frames are bounded.
type Conn struct {
	net.Conn
	scan Scanner
}

// Bound returns conn with its frames bounded. It exposes conn's socket, if there is one, by which go-redis finds out
// that a peer hung up.
func Bound(conn net.Conn) net.Conn {
	bound := &Conn{Conn: conn}
	if socket, ok := conn.(syscall.Conn); ok {
		return &socketConn{bound, socket}
	}
	return bound
}

// Read implements [net.Conn].
func (c *Conn) Read(p []byte) (int, error) {
	if c.scan.err != nil {
		return 0, c.scan.err
	}
	n, err := c.Conn.Read(p)
	if passed, bad := c.scan.Scan(p[:n]); bad != nil {
		return passed, bad
	}
	if timeout := net.Error(nil); err != nil && c.scan.Inside() && errors.As(err, &timeout) && timeout.Timeout() {
		_ = c.scan.Fail("it did not end in time")
	}
	return n, err
}

// socketConn is a Conn that exposes its socket.
type socketConn struct {
	*Conn
	socket syscall.Conn
}

// SyscallConn implements [syscall.Conn].
func (c *socketConn) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }
