//go:build !linux

package servers

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Processor fails: only Linux tells it as such.
func (p *Process) Processor() (time.Duration, error) {
	return 0, errors.New("only Linux tells what time of processors a process has used")
}

// dieWithParent does nothing where the kernel offers no such signal: there a server outlives a test binary that is
// killed.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func frozen(int) bool { return true }

func allGone(pids []int) bool {
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			return false
		}
	}
	return true
}

// childrenOf returns the processes that a process has started.
func childrenOf(pid int) (children []int) {
	out, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if n, _ := fmt.Sscan(line, &child, &parent); n == 2 && parent == pid {
			children = append(children, child)
		}
	}
	return children
}
