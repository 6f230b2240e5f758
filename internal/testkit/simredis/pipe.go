package simredis

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// socket is the client's end of a pipe. When the other end is closed, it fails like a socket, not like a pipe:
// clients and applications distinguish the errors.
type socket struct {
	net.Conn
	closed atomic.Bool
}

func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	return n, s.translate(err, io.EOF)
}

func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	return n, s.translate(err, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE})
}

func (s *socket) SetDeadline(t time.Time) error {
	return s.translate(s.Conn.SetDeadline(t), nil)
}

func (s *socket) SetReadDeadline(t time.Time) error {
	return s.translate(s.Conn.SetReadDeadline(t), nil)
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	return s.translate(s.Conn.SetWriteDeadline(t), nil)
}

func (s *socket) Close() error {
	s.closed.Store(true)
	return s.Conn.Close()
}

// translate turns the error of a closed pipe into a socket's: net.ErrClosed if this end closed it, else remote.
func (s *socket) translate(err, remote error) error {
	if !errors.Is(err, io.ErrClosedPipe) {
		return err
	}
	if s.closed.Load() {
		return net.ErrClosed
	}
	return remote
}
