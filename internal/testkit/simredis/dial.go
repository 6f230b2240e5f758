package simredis

import (
	"context"
	"net"
	"syscall"
	"time"
)

// DialFault decides about a client's dial: it may wait, and its error is the dial's.
type DialFault func(ctx context.Context) error

// Refuse is the fault of a server that is not there, on a host that is.
func Refuse(context.Context) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// Unanswered is the fault of a host that does not answer: a dial ends with its context.
func Unanswered(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Stuck is a dial that heeds no context, and fails after a minute.
func Stuck(context.Context) error {
	time.Sleep(time.Minute)
	return net.ErrClosed
}

// SetDialFault makes fault decide about every dial of a client from now on; nil lets all of them pass.
func (s *Server) SetDialFault(fault DialFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialFault = fault
}

// Leave hangs up on all clients, and makes fault decide about every dial from now on.
func (s *Server) Leave(fault DialFault) {
	s.SetDialFault(fault)
	s.CutAll()
}

// Dials returns how often clients have dialled, with those dials that failed.
func (s *Server) Dials() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials
}

// admit is what a client's dial begins with.
func (s *Server) admit(ctx context.Context) error {
	s.mu.Lock()
	s.dials++
	fault := s.dialFault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx)
}
