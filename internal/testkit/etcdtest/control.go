package etcdtest

import (
	"errors"
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
	return func() { s.report("let the disk go on", tracer.End(os.Interrupt)) }
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
