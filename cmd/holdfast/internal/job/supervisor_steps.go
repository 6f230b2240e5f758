//go:build unix && !aix

package job

import (
	"fmt"
	"syscall"
	"time"
)

// plan sets the alarm for what is due next.
func (s *supervisor) plan() {
	next := s.until.add(-max(s.Grace, s.Reserve))
	switch s.phase {
	case terminating:
		next = s.killAt
	case killed:
		next = sharedNow().add(s.pause)
	}
	if err := s.alarm.set(next); err != nil {
		fail(0, err)
		s.kill() // without an alarm nothing would end the command in time
	}
}

// Between two passes of killing there is at least soon, and seldom at most: what does not die is waiting for a device,
// or runs with rights that keep us from killing it.
const soon, seldom = 50 * time.Millisecond, time.Second

// ring does what is due.
func (s *supervisor) ring() {
	now := sharedNow()
	switch s.phase {
	case running:
		if now >= s.until.add(-max(s.Grace, s.Reserve)) {
			s.ending.cut = true
			s.terminate(s.until)
		}
	case terminating:
		if now >= s.killAt {
			s.kill()
		}
	case killed:
		s.kill()
	}
}

// obey carries out a message of holdfast.
func (s *supervisor) obey(m message) {
	switch m.kind {
	case until:
		s.until = max(s.until, instant(m.value))
	case pass:
		s.forward(syscall.Signal(m.value))
	case over:
		s.ending.cut = s.ending.cut || !s.reaped
		s.kill()
	}
}

// terminate asks everything to end, and has it killed at that instant, or in time before the validity ends. A validity
// that is prolonged later changes nothing: what was asked to end ends.
func (s *supervisor) terminate(killAt instant) {
	if s.phase >= terminating {
		return
	}
	s.phase, s.killAt = terminating, min(killAt, s.until.add(-s.Reserve))
	if sharedNow() >= s.killAt {
		s.kill()
		return
	}
	s.family.look()
	if len(s.family.members) == 0 {
		s.group(syscall.SIGTERM)
		s.group(syscall.SIGCONT)
		return
	}
	// Each once: many programs take a second SIGTERM for impatience. What is stopped handles it when it goes on.
	s.family.signal(syscall.SIGTERM, 0)
	s.family.signal(syscall.SIGCONT, 0)
}

// kill ends what is known, at once, and from its second call on looks for more: a process may have started another one
// before it was killed. It is called again until nothing is left.
func (s *supervisor) kill() {
	s.group(syscall.SIGKILL)
	first := s.phase < killed
	if first {
		s.phase, s.killing, s.pause = killed, sharedNow(), min(soon, s.Reserve/4)
	} else {
		s.pause = min(2*s.pause, seldom)
	}
	if !first || len(s.family.members) == 0 {
		s.family.look()
	}
	denied := s.family.signal(syscall.SIGKILL, 0)
	if len(denied) > 0 && !s.warned {
		s.warned = true
		fail(0, fmt.Errorf("may not end the processes %v, which have other rights than holdfast", denied))
	}
}

// patience is how long the supervisor tries to kill what does not die, once the hold is over or holdfast dead. Before
// that it tries as long as the hold is renewed: while something runs, the lock must stay held.
const patience = 5 * time.Second

// finished reports whether there is nothing to wait for although descendants live.
func (s *supervisor) finished() bool {
	switch {
	case s.phase == running:
		return s.reaped && s.Leave
	case s.phase == killed && sharedNow() >= s.killing.add(patience):
		return s.orphan || s.ending.cut || sharedNow() >= s.until
	}
	return false
}

// group signals the command's process group. After the command was reaped its number may stand for another group; what
// is left of the group is in the family. (That the command was reaped may be news on its way: numbers are given out in
// turn, so this one is not used again so soon.)
func (s *supervisor) group(sig syscall.Signal) {
	if !s.reaped {
		_ = syscall.Kill(-s.child, sig) // nobody left is no mistake
	}
}

// forward passes a signal on to the command and everything in its process group.
func (s *supervisor) forward(sig syscall.Signal) {
	if sig == syscall.SIGCONT && s.gaveTTY {
		s.gaveTTY = !s.tty.pass(s.Group, s.child)
	}
	s.group(sig)
}

// note takes in that a child has changed.
func (s *supervisor) note(c change) {
	switch {
	case c.pid != s.child || s.reaped:
		return // an orphan that was adopted
	case c.status.Stopped():
		s.stopped(c.status.StopSignal())
		return
	case c.status.Exited():
		s.ending.code = c.status.ExitStatus()
	case c.status.Signaled():
		s.ending.signal = c.status.Signal()
		s.ending.code = 128 + int(s.ending.signal)
	default:
		return
	}
	s.reaped = true
	s.ending.foreground = s.tty.pass(s.child, s.Group)
	if !s.Leave {
		s.terminate(sharedNow().add(s.Grace)) // what is left is ended before the lock is released
	}
}

// stopped handles a command that was stopped. If it asked for the terminal, it gets it, where holdfast has it to give.
// Otherwise the whole job is stopped, so that the shell shows its prompt.
func (s *supervisor) stopped(by syscall.Signal) {
	if s.tty == nil || s.phase > running {
		return // somebody stopped it by hand, and will continue it
	}
	if by == syscall.SIGTTIN || by == syscall.SIGTTOU {
		if s.tty.pass(s.Group, s.child) {
			s.group(syscall.SIGCONT)
			return
		}
	}
	had := s.tty.pass(s.child, s.Group)
	s.gaveTTY = s.gaveTTY || had
	tell := message{kind: stopped}
	if had {
		tell.value = 1
	}
	_ = s.wire.send(tell) // if holdfast is dead, the other end says so
}

// change is news of a child of the supervisor's.
type change struct {
	pid    int
	status syscall.WaitStatus
}

// reap waits for every child, the adopted ones too, and closes the channel when there is none: then nothing lives that
// the command has started.
func reap(to chan<- change) {
	defer close(to)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch err {
		case nil:
			to <- change{pid, status}
		case syscall.EINTR:
		default: // ECHILD
			return
		}
	}
}
