package pgtest

import (
	"errors"
	"syscall"
	"testing"
)

// Freeze stops the server with SIGSTOP, with every process that it has started: connections stay open and accept
// bytes, nothing is executed, and time goes on. It returns once all of it stands still.
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

// Crash ends the server, and every process that it has started, with SIGKILL at one moment, and returns once they are
// gone.
func (s *Server) Crash() {
	s.owner().Helper()
	s.report("crash", s.process.Kill())
}

// Shutdown ends the server as an administrator does who does not wait for clients: it rolls back what they have not
// committed, hangs up on them, and writes everything to disk. It returns once the server is gone.
func (s *Server) Shutdown() {
	s.owner().Helper()
	s.report("shutdown", s.process.End(syscall.SIGINT))
}

// Restart starts a server that has ended again, on the same port with the same data, and returns once it answers.
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
		panic("pgtest: the shared server is for all tests: start one that may be disturbed")
	}
	return s.t
}

func (s *Server) report(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("pgtest: %s %s: %v", what, s.Addr(), err)
	}
}
