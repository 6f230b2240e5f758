package etcdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
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
// must have been started with "--unsafe-no-fsync=false". Only strace can do that: it is installed if it is missing.
// Where it may not attach itself to another process, the test is skipped, and says why.
func (s *Server) HangDisk(t testing.TB) (resume func()) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		_, failed := servers.RunScript("install.sh", "strace")
		if path, err = exec.LookPath("strace"); err != nil {
			t.Fatalf("etcdtest: a disk hangs by strace, which cannot be installed here (%v): install it", failed)
		}
	}
	tracer := &servers.Process{
		Path: path, Log: filepath.Join(t.TempDir(), "log"),
		Args: []string{"-f", "-p", strconv.Itoa(s.process.Pid()), "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
			"-e", "inject=fsync,fdatasync:delay_enter=60s"},
	}
	if err := tracer.Start(); err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	t.Cleanup(func() { _ = tracer.Kill() })
	servers.Eventually(t, patience, func() bool {
		return !tracer.Alive() || strings.Contains(tracer.Output(), "attached")
	}, "strace attaches itself")
	if !tracer.Alive() {
		t.Skipf("etcdtest: no disk hangs here: %s", tracer.Output())
	}
	return func() { s.owned.Report("let the disk go on", s.Addr(), tracer.End(os.Interrupt)) }
}
