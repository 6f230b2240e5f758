package redistest

// Kill ends the server with SIGKILL and returns once it is gone. What it did not write to disk
// is lost.
//
// The methods below may be called by any goroutine, as programs that inject faults do; an error
// fails the test that started the server.
func (s *Server) Kill() {
	s.owned.Owner().Helper()
	s.owned.Report("kill", s.Addr(), s.process.Kill())
}

// Restart starts a killed server again, on the same port, with the same arguments and in the
// same directory, and returns once it answers. It is empty unless its arguments made it write to
// disk.
func (s *Server) Restart() {
	s.owned.Owner().Helper()
	s.owned.Restart(s.Addr(), s.process, s.boot)
}

// Stop freezes the server with SIGSTOP: connections stay open and accept bytes, nothing is
// executed, and time goes on for the keys. It returns once the server stands still.
func (s *Server) Stop() {
	s.owned.Owner().Helper()
	s.owned.Report("stop", s.Addr(), s.process.Freeze())
}

// Continue lets a stopped server run again: it executes the requests that it received meanwhile.
func (s *Server) Continue() {
	s.owned.Owner().Helper()
	s.owned.Report("continue", s.Addr(), s.process.Thaw())
}
