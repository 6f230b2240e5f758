package redistest

import (
	"errors"
	"testing"
)

// Kill ends the server with SIGKILL and returns once it is gone. What it did not write to disk
// is lost.
//
// The methods below may be called by any goroutine, as programs that inject faults do; an error
// fails the test that started the server.
func (s *Server) Kill() {
	s.owner().Helper()
	s.report("kill", s.process.Kill())
}

// Restart starts a killed server again, on the same port, with the same arguments and in the
// same directory, and returns once it answers. It is empty unless its arguments made it write to
// disk.
func (s *Server) Restart() {
	s.owner().Helper()
	if s.process.Alive() {
		s.report("restart", errors.New("the server was not killed"))
		return
	}
	s.report("restart", s.boot())
}

// Stop freezes the server with SIGSTOP: connections stay open and accept bytes, nothing is
// executed, and time goes on for the keys. It returns once the server stands still.
func (s *Server) Stop() {
	s.owner().Helper()
	s.report("stop", s.process.Freeze())
}

// Continue lets a stopped server run again: it executes the requests that it received meanwhile.
func (s *Server) Continue() {
	s.owner().Helper()
	s.report("continue", s.process.Thaw())
}

// owner returns the test that started the server, and may therefore disturb it.
func (s *Server) owner() testing.TB {
	if s.t == nil {
		panic("redistest: the shared server is for all tests: start one that may be disturbed")
	}
	return s.t
}

func (s *Server) report(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("redistest: %s %s: %v", what, s.Addr(), err)
	}
}
