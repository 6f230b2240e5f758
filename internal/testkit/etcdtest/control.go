package etcdtest

import "testing"

// Freeze stops the server with SIGSTOP: connections stay open and accept bytes, nothing is executed, and time goes on.
// It returns once all of it stands still.
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

// Kill ends the server with SIGKILL, and returns once it is gone.
func (s *Server) Kill() {
	s.owned.Owner().Helper()
	s.owned.Report("kill", s.Addr(), s.process.Kill())
}

// Restart starts a server that was killed again, at the same addresses with the same data, and returns once it is well.
// A member of a cluster needs a majority for that.
func (s *Server) Restart() {
	s.owned.Owner().Helper()
	s.owned.Restart(s.Addr(), s.process, s.boot)
}

// HangDisk delays every write to the disk that the server waits for by a minute, until resume is called. The server
// must have been started with "--unsafe-no-fsync=false". Where that cannot be done, the test is skipped, and says why.
func (s *Server) HangDisk(t testing.TB) (resume func()) {
	t.Helper()
	end := s.process.HangDisk(t)
	return func() { s.owned.Report("let the disk go on", s.Addr(), end()) }
}
