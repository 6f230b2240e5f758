//go:build unix && !aix

package job

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal of the session, as the supervisor uses it: it gives its foreground to the
// command and takes it back. A nil terminal is none.
type terminal struct {
	file  *os.File
	group int // holdfast's process group, which the terminal goes back to
}

// openTerminal returns nil if there is no controlling terminal, as in a service or a cron job.
func openTerminal(group int) *terminal {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	return &terminal{file: file, group: group}
}

func (t *terminal) fd() int { return int(t.file.Fd()) }

// foreground returns the process group that may read the terminal, 0 if nobody knows.
func (t *terminal) foreground() int {
	if t == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(t.fd(), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// whole reports whether the command is all that uses the terminal: holdfast has its foreground, and neither reads from
// a pipe nor writes to one. In `holdfast run x -- report | less` the terminal is less's.
func (t *terminal) whole() bool {
	return t != nil && t.foreground() == t.group && isTerminal(0) && isTerminal(1)
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP) // no error only for our controlling terminal
	return err == nil
}

// pass gives the foreground from one process group to another. It does nothing if the first does not have it: the
// shell has put us in the background. The caller ignores SIGTTOU, which else would stop it here.
func (t *terminal) pass(from, to int) (passed bool) {
	if t.foreground() != from || from == 0 {
		return false
	}
	return unix.IoctlSetPointerInt(t.fd(), unix.TIOCSPGRP, to) == nil
}

// stopLikeTheCommand stops holdfast as the terminal would have stopped it, so that the shell shows its prompt, and
// returns when it was continued. If the command had the foreground, the terminal has told nobody else of the job: all
// of holdfast's group is stopped. If no shell could continue us, this returns at once.
//
// A stopped holdfast renews nothing. So its supervisor, which is not stopped, ends the command in time: a job that
// somebody has forgotten gives the lock up after a lease.
func stopLikeTheCommand(foreground bool, signals chan<- os.Signal) {
	if signal.Ignored(syscall.SIGTSTP) {
		return
	}
	// What is ignored leaves nothing pending, which could stop us once more later on. signal.Reset would not do: the
	// runtime keeps its handler, and that swallows the signal.
	signal.Ignore(syscall.SIGTSTP)
	if foreground {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
	stopOurselves()
	signal.Notify(signals, syscall.SIGTSTP)
}

// notify passes signals of those kinds on to the channel, unless they are ignored: nohup's SIGHUP stays so, here and
// in the command.
func notify(signals chan<- os.Signal, kinds ...os.Signal) {
	for _, kind := range kinds {
		if !signal.Ignored(kind) {
			signal.Notify(signals, kind)
		}
	}
}
