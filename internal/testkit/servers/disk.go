package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// HangDisk delays every write to the disk that the program waits for by a minute, in the processes that it has started
// and will start, too, until resume is called. Only strace can do that: it is installed if it is missing. Where it may
// not attach itself to another process, the test is skipped, and says why.
func (p *Process) HangDisk(t testing.TB) (resume func() error) {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		_, failed := RunScript("install.sh", "strace")
		if path, err = exec.LookPath("strace"); err != nil {
			t.Fatalf("servers: a disk hangs by strace, which cannot be installed here (%v): install it", failed)
		}
	}
	tracer := &Process{
		Path: path, Log: filepath.Join(t.TempDir(), "log"),
		Args: []string{"-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
			"inject=fsync,fdatasync:delay_enter=60s"},
	}
	pids := append([]int{p.Pid()}, childrenOf(p.Pid())...)
	for _, pid := range pids {
		tracer.Args = append(tracer.Args, "-p", strconv.Itoa(pid))
	}
	if err := tracer.Start(); err != nil {
		t.Fatalf("servers: %v", err)
	}
	t.Cleanup(func() { _ = tracer.Kill() })
	Eventually(t, time.Minute, func() bool {
		said := tracer.Output() // of one that has just ended, that there is no such process
		return !tracer.Alive() || strings.Count(said, "attached")+strings.Count(said, "No such process") >= len(pids)
	}, "strace attaches itself")
	if !tracer.Alive() {
		t.Skipf("servers: no disk hangs here: %s", tracer.Output())
	}
	return func() error { return tracer.End(os.Interrupt) }
}
