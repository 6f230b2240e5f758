package zktest

import (
	"os"
	"testing"
	"time"
)

// Freeze stops the server with SIGSTOP: connections stay open and accept bytes, nothing is executed, and time goes on.
// It returns once all of it stands still.
//
// The methods below may be called by any goroutine, as programs that inject faults do; an error fails the test that
// started the server.
func (s *Server) Freeze() {
	s.owned.Owner().Helper()
	s.owned.Report("freeze", s.Addr(), s.process.Freeze())
}

// Resume lets a frozen server run again: it executes what it received meanwhile.
func (s *Server) Resume() {
	s.owned.Owner().Helper()
	s.owned.Report("resume", s.Addr(), s.process.Thaw())
}

// Ahead sets how far the server's wall clock is ahead of the machine's, if it has one of its own.
func (s *Server) Ahead(d time.Duration) {
	s.owned.Owner().Helper()
	s.owned.Report("set the clock", s.Addr(), s.clock.Ahead(d))
}

// Kill ends the server with SIGKILL, and returns once it is gone.
func (s *Server) Kill() {
	s.owned.Owner().Helper()
	s.owned.Report("kill", s.Addr(), s.process.Kill())
}

// Restart starts a server that was killed again, at the same addresses with the same data, and returns once it serves.
// A member of an ensemble needs a majority for that.
func (s *Server) Restart() {
	s.owned.Owner().Helper()
	s.owned.Restart(s.Addr(), s.process, s.boot)
}

// Snapshot copies what the server has written so far to a folder, which ends with the test. The server is frozen
// meanwhile.
func (s *Server) Snapshot(t testing.TB) (folder string) {
	t.Helper()
	folder = t.TempDir() + "/snapshot"
	s.Freeze()
	err := os.CopyFS(folder, os.DirFS(s.data()))
	s.Resume()
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
	return folder
}

// Rewind has a server, which is alone, go on from a snapshot at the same address: all that was written since is lost.
func (s *Server) Rewind(t testing.TB, snapshot string) {
	t.Helper()
	s.Kill()
	s.restore(t, snapshot)
	s.Restart()
}

// restore replaces the data of a server that does not run.
func (s *Server) restore(t testing.TB, snapshot string) {
	t.Helper()
	err := os.RemoveAll(s.data())
	if err == nil {
		err = os.CopyFS(s.data(), os.DirFS(snapshot))
	}
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
}
