package pgtest

import (
	"syscall"
	"testing"
)

// Freeze stops the server with SIGSTOP, with every process that it has started: connections stay open and accept
// bytes, nothing is executed, and time goes on. It returns once all of it stands still.
//
// The methods below may be called by any goroutine, as programs that inject faults do; an error fails the test that
// started the server.
func (s *Server) Freeze() {
	s.owned.Owner().Helper()
	s.owned.Report("freeze", s.Addr(), s.process.Freeze())
}

// Thaw lets a frozen server run again: it executes what it received meanwhile.
func (s *Server) Thaw() {
	s.owned.Owner().Helper()
	s.owned.Report("thaw", s.Addr(), s.process.Thaw())
}

// Crash ends the server, and every process that it has started, with SIGKILL at one moment, and returns once they are
// gone.
func (s *Server) Crash() {
	s.owned.Owner().Helper()
	s.owned.Report("crash", s.Addr(), s.process.Kill())
}

// HangDisk delays every write to the disk that the server waits for by a minute, until resume is called. The server
// must have been started with "fsync=on". Where that cannot be done, the test is skipped, and says why.
func (s *Server) HangDisk(t testing.TB) (resume func()) {
	t.Helper()
	end := s.process.HangDisk(t)
	return func() { s.owned.Report("let the disk go on", s.Addr(), end()) }
}

// Shutdown ends the server as an administrator does who does not wait for clients: it rolls back what they have not
// committed, hangs up on them, and writes everything to disk. It returns once the server is gone.
func (s *Server) Shutdown() {
	s.owned.Owner().Helper()
	s.owned.Report("shutdown", s.Addr(), s.process.End(syscall.SIGINT))
}

// Restart starts a server that has ended again, on the same port with the same data, and returns once it answers.
func (s *Server) Restart() {
	s.owned.Owner().Helper()
	s.owned.Restart(s.Addr(), s.process, s.boot)
}
