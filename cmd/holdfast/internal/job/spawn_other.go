//go:build unix && !linux

package job

import (
	"os"
	"syscall"
)

// ourselves is this program.
func ourselves() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// hurry gives this process the first right to a processor, where the system lets it.
func hurry() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20) }

// stopThread stops this process. Without a signal to a thread it may do so a little later.
func stopThread() { _ = syscall.Kill(os.Getpid(), syscall.SIGTSTP) }

func moreSignals() []os.Signal { return nil }
