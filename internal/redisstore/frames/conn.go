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
	if conn, ok := conn.(syscall.Conn); ok {
		if socket, err := conn.SyscallConn(); err == nil {
			return &socketConn{bound, socket}
		}
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
	if err != nil && c.scan.Inside() && timedOut(err) {
		_ = c.scan.Fail("it did not end in time")
	}
	return n, err
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// socketConn is a Conn that exposes its socket. Go-redis looks at it before each use of the connection, so what package
// net makes to show it is made once.
type socketConn struct {
	*Conn
	socket syscall.RawConn
}

// SyscallConn implements [syscall.Conn].
func (c *socketConn) SyscallConn() (syscall.RawConn, error) { return c.socket, nil }
