//go:build unix && !aix

package job

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// The exit codes of a job whose command has none: those of sysexits.h, and a shell's.
const (
	exitSoftware      = 70  // the supervisor was killed, or could not be started
	exitSystem        = 71  // the system lacks what we need
	exitNotExecutable = 126 // the command cannot be executed
	exitNotFound      = 127 // there is no such command, or its interpreter is missing
)

// forwarded are the signals that are passed on to the command: all that can be caught and mean something to it. Not
// among them are SIGCHLD, SIGPIPE, SIGTTIN and SIGTTOU, which tell a process of itself, SIGURG, with which Go's
// scheduler interrupts its threads, and those of a program's own faults.
func forwarded() []os.Signal {
	signals := []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGALRM, syscall.SIGTERM, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGVTALRM, syscall.SIGXCPU,
		syscall.SIGXFSZ, syscall.SIGIO, unix.SIGWINCH,
	}
	return append(signals, moreSignals()...)
}
