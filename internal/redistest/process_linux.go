package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithParent makes the kernel kill the server when the test binary ends in a way that runs
// no cleanup: a timeout, a panic, a SIGKILL.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// frozen tells whether a process is stopped by a signal.
func frozen(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // it is gone, which is as still as can be
	}
	// The state follows the program's name, which is in parentheses and may hold any byte.
	_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return !ok || len(rest) == 0 || rest[0] == 'T'
}
