package etcdtest

import (
	"errors"
	"testing"
)

// Freeze stops the server with SIGSTOP: connections stay open and accept bytes, nothing is executed, and time goes on.
// It returns once all of it stands still.
//
// The methods below may be called by any goroutine, as programs that inject faults do; an error fails the test that
// started the server.
func (s *Server) Freeze() {
	s.owner().Helper()
	s.report("freeze", s.process.Freeze())
}

// Thaw lets a frozen server run again: it executes what it received meanwhile.
func (s *Server) Thaw() {
	s.owner().Helper()
	s.report("thaw", s.process.Thaw())
}

// Kill ends the server with SIGKILL, and returns once it is gone.
func (s *Server) Kill() {
	s.owner().Helper()
	s.report("kill", s.process.Kill())
}

// Restart starts a server that was killed again, at the same addresses with the same data, and returns once it is well.
// A member of a cluster needs a majority for that.
func (s *Server) Restart() {
	s.owner().Helper()
	if s.process.Alive() {
		s.report("restart", errors.New("the server has not ended"))
		return
	}
	s.report("restart", s.boot())
}

// owner returns the test that started the server, and may therefore disturb it.
func (s *Server) owner() testing.TB {
	if s.t == nil {
		panic("etcdtest: the shared server is for all tests: start one that may be disturbed")
	}
	return s.t
}

func (s *Server) report(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("etcdtest: %s %s: %v", what, s.Addr(), err)
	}
}
