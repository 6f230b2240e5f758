package links

import (
	"net"
	"sync/atomic"
	"syscall"
)

// IdleAfter is how long a connection counts as one that was in use a moment ago.
const IdleAfter = idleAfter

// RestMost bounds how many exchanges in turn are not watched.
const RestMost = restMost

// Watch reads from a connection as the first read of an exchange does.
func Watch(socket syscall.RawConn, waiting *atomic.Int32) func(conn net.Conn, p []byte) (int, error) {
	return newWatch(socket, waiting).read
}

// Waiting is how many exchanges wait for their replies.
func (ws *Wires) Waiting() int { return int(ws.waiting.Load()) }
