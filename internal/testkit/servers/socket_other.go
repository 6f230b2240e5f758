//go:build !linux

package servers

import (
	"errors"
	"net"
)

// SocketOf fails: only Linux tells whose a socket is.
func SocketOf(net.Addr) (string, error) {
	return "", errors.New("only Linux tells which process has a connection")
}

// HasSocket reports whether a process has a socket.
func HasSocket(int, string) bool { return false }
