package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
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
		if state, _ := stat(thread); state != 'T' && state != gone {
			return false
		}
	}
	return true
}

// allGone reports whether none of the processes can run any more. Nobody may have reaped them: their parent is dead.
func allGone(pids []int) bool {
	for _, pid := range pids {
		if state, _ := stat(fmt.Sprintf("/proc/%d/stat", pid)); state != gone {
			return false
		}
	}
	return true
}

// childrenOf returns the processes that a process has started.
func childrenOf(pid int) (children []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		if state, parent := stat(file); state != gone && parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			children = append(children, child)
		}
	}
	return children
}

// Processor returns how much time of processors the program has used.
func (p *Process) Processor() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		return 0, err
	}
	const inUser, inSystem = 11, 12 // of the fields behind the program's name
	fields := bytes.Fields(text[max(0, bytes.LastIndexByte(text, ')')+1):])
	var used time.Duration
	for _, field := range []int{inUser, inSystem} {
		ticks, err := strconv.Atoi(string(fields[field]))
		if err != nil {
			return 0, err
		}
		used += time.Duration(ticks) * 10 * time.Millisecond // to programs Linux counts hundredths on every machine
	}
	return used, nil
}

// gone is the state of a process that has ended, whether it was reaped or not.
const gone = byte(0)

// stat returns the state and the parent of a process, or a thread.
func stat(file string) (state byte, parent int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return gone, 0
	}
	// The state follows the program's name, which is in parentheses and may contain any byte.
	_, rest, _ := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") "))
	if _, err := fmt.Sscanf(string(rest), "%c %d", &state, &parent); err != nil || state == 'Z' || state == 'X' {
		return gone, 0
	}
	return state, parent
}
