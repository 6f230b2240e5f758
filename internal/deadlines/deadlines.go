// Package deadlines gives deadlines to connections that have none, such as those through an SSH tunnel.
package deadlines

import (
	"net"
	"os"
	"sync"
	"time"
)

// Conn returns conn if it knows deadlines. Otherwise it returns a connection that closes conn when a deadline has
// passed: nothing else ends a read of it. So a time-out costs such a connection, and no caller waits for ever.
//
// A deadline for reading and one for writing are the same there, as closing ends both.
func Conn(conn net.Conn) net.Conn {
	if conn.SetDeadline(time.Time{}) == nil {
		return conn
	}
	return &timed{Conn: conn}
}

// timed is a connection with a timer. The timer's function and the users of the connection may come together; mu says
// which is first, and is not held while the connection is closed, which may write.
type timed struct {
	net.Conn

	mu    sync.Mutex // guards what is below
	timer *time.Timer
	set   int  // how often the deadline was set: a timer that was late to be stopped knows that it is an older one
	late  bool // the deadline has passed, and the connection is closed
	over  bool // it is closed
}

// SetDeadline implements [net.Conn].
func (c *timed) SetDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return net.ErrClosed
	}
	c.stopLocked()
	if at.IsZero() || c.late {
		return nil
	}
	set := c.set
	c.timer = time.AfterFunc(time.Until(at), func() { c.expire(set) })
	return nil
}

// SetReadDeadline implements [net.Conn].
func (c *timed) SetReadDeadline(at time.Time) error { return c.SetDeadline(at) }

// SetWriteDeadline implements [net.Conn].
func (c *timed) SetWriteDeadline(at time.Time) error { return c.SetDeadline(at) }

func (c *timed) stopLocked() {
	c.set++
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// expire closes the connection, if its deadline was not set again since.
func (c *timed) expire(set int) {
	c.mu.Lock()
	expired := c.set == set && !c.over
	c.late = c.late || expired
	c.mu.Unlock()
	if expired {
		_ = c.Conn.Close()
	}
}

// Read implements [net.Conn].
func (c *timed) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.judge(err)
}

// Write implements [net.Conn].
func (c *timed) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.judge(err)
}

// judge makes an error a time-out that the deadline has caused.
func (c *timed) judge(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late {
		return os.ErrDeadlineExceeded
	}
	return err
}

// Close implements [net.Conn].
func (c *timed) Close() error {
	c.mu.Lock()
	c.stopLocked()
	c.over = true
	c.mu.Unlock()
	return c.Conn.Close()
}
