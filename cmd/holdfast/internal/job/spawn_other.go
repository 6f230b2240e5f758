//go:build unix && !linux && !aix

package job

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ourselves is this program.
func ourselves() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// hurry gives this process the first right to a processor, where the system lets it.
func hurry() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20) }

// stopOurselves stops this process until it is continued, unless no shell could continue it: a parent in our session
// is such a shell, or was started by one.
func stopOurselves() {
	ours, err := unix.Getsid(0)
	theirs, failed := unix.Getsid(os.Getppid())
	if err == nil && failed == nil && ours == theirs {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
}

func moreSignals() []os.Signal { return nil }
