// Package job runs a command that never outlives a hold.
//
// # Who does what
//
//	holdfast run  ------- the hold, its renewal; the signals that the user sends
//	   |
//	supervisor    ------- this program again: starts the command, ends it in time
//	   |
//	the command and all that it starts
//
// holdfast tells the supervisor, over a socket, until when the hold is valid: an instant on a clock that both read and
// that counts suspensions of the machine. The supervisor needs nothing else. It ends the command when that instant
// draws near, whatever happens to holdfast: stopped, killed, or too slow.
//
//	valid until - grace      SIGTERM to everything
//	valid until - reserve    SIGKILL to everything, until nothing is left
//	valid until              from here on somebody else may be granted the lock
//
// An end of the socket means that holdfast is dead. Everything gets SIGTERM at once then, and SIGKILL after the grace
// or at the same instant as above, whichever is first.
//
// # Why nothing escapes
//
// On Linux both processes adopt orphans (PR_SET_CHILD_SUBREAPER): a descendant whose parent ends becomes a child of the
// supervisor, even after setsid, a second fork or a process group of its own. So the supervisor has no child exactly
// when no descendant lives, and wait4 says ECHILD. It kills what /proc shows as descendants, over and over, until then:
// a process that forks while it is being killed leaves a child that the next pass finds. Signals go through pidfds, so
// a number that is used again never hits a stranger.
//
// If the supervisor is killed, the kernel kills the command (PR_SET_PDEATHSIG, from a thread that lives as long as the
// supervisor), the rest become children of holdfast, and holdfast ends them before it releases the lock. If the
// supervisor is stopped, holdfast ends everything itself, a little later than the supervisor would have. Only when both
// are killed at once does a descendant of the command survive.
//
// Other Unixes have no adoption: there the command's process group is ended, and what left the group lives on.
//
// # The terminal
//
// The command has a process group of its own, so that a signal reaches all of it and nothing else. A group in the
// background may not read the terminal. The command therefore gets the terminal's foreground if holdfast has it and is
// no part of a pipeline; in a pipeline, where others may need it, only when the command asks for it (terminal.go).
//
// When the terminal stops the command, the supervisor tells holdfast, which stops itself: the shell waits for nothing
// else. The supervisor goes on and ends the command in time, because nobody renews the hold. The alternative, a
// holdfast that stays awake behind another process that the shell sees, would keep the lock for a job that nobody may
// ever continue. A command that was stopped by hand, without a terminal, stops nobody else: it keeps the lock.
package job
