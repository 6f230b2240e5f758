package links

import "syscall"

// checked is a Wire whose socket can be looked at: so go-redis finds out, before each use, whether the
// peer hung up, and a reply that comes at once is seen at once.
type checked struct {
	*Wire
	peer  peer // made once a connection, and not once a command
	watch *watch
}

// Read implements [net.Conn].
func (c *checked) Read(p []byte) (int, error) {
	if c.begins() {
		return c.watch.read(c.Conn, p)
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
	return &checked{w, peer{socket, w}, newWatch(socket, &w.wires.waiting)}, err == nil
}

// peer is the socket of a connection, looked at only if that was idle for a moment: a peer that hung up just
// now is found out by the exchange, as one that hangs up right after the look is.
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
