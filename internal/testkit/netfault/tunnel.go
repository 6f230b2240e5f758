package netfault

import (
	"errors"
	"net"
	"time"
)

// Tunnel is a connection that knows no deadlines, like one through SSH.
type Tunnel struct{ net.Conn }

var errNoDeadlines = errors.New("deadline not supported")

// SetDeadline implements [net.Conn].
func (Tunnel) SetDeadline(time.Time) error { return errNoDeadlines }

// SetReadDeadline implements [net.Conn].
func (Tunnel) SetReadDeadline(time.Time) error { return errNoDeadlines }

// SetWriteDeadline implements [net.Conn].
func (Tunnel) SetWriteDeadline(time.Time) error { return errNoDeadlines }
