package links

import "syscall"

// checked is a Wire that exposes its socket. Through it go-redis finds out, before each use, whether the peer hung
// up, and a reply that arrives at once is noticed at once.
type checked struct {
	*Wire
	peer  peer // made once a connection, and not once a command
	watch *watch
	heard func(p []byte, err error) // receives what was read past Conn; nil: not called
}

// Read implements [net.Conn].
func (c *checked) Read(p []byte) (int, error) {
	if c.begins() {
		n, err := c.watch.read(c.Conn, p)
		if c.heard != nil {
			c.heard(p[:n], err)
		}
		return n, err
	}
	return c.Conn.Read(p)
}

// SyscallConn implements [syscall.Conn].
func (c *checked) SyscallConn() (syscall.RawConn, error) { return &c.peer, nil }

func check(w *Wire) (*checked, bool) {
	conn, ok := w.Conn.(syscall.Conn)
	if !ok {
		return nil, false
	}
	socket, err := conn.SyscallConn()
	c := &checked{Wire: w, peer: peer{socket, w}, watch: newWatch(socket, &w.wires.waiting)}
	if t, ok := w.Conn.(*trackedSocket); ok {
		c.heard = t.heard
	}
	return c, err == nil
}

// peer is the socket of a connection. It is checked only if it was idle for a moment: a peer that hung up just now is
// detected by the exchange, like one that hangs up right after the check.
//
// The check costs a system call per command, and would not exclude anything: the peer can always hang up right
// after it.
type peer struct {
	syscall.RawConn
	wire *Wire
}

// Read implements [syscall.RawConn].
func (p *peer) Read(look func(fd uintptr) bool) error {
	if p.wire.warm() {
		return nil
	}
	return p.RawConn.Read(look)
}
