package redistest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dieWithParent makes the kernel kill the server when the test binary ends without running its cleanup: a timeout, a
// panic, a SIGKILL.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// frozen reports whether a process is stopped by a signal, with all of its threads: each stops on its own.
func frozen(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		if !stopped(thread) {
			return false
		}
	}
	return true
}

func stopped(thread string) bool {
	stat, err := os.ReadFile(thread)
	if err != nil {
		return true // it is gone, and cannot run
	}
	// The state follows the program's name, which is in parentheses and may contain any byte.
	_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return !ok || len(rest) == 0 || rest[0] == 'T'
}
