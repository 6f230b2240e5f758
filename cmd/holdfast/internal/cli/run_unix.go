//go:build unix && !aix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/holdfast-go/holdfast/cmd/holdfast/internal/job"
	"github.com/holdfast-go/holdfast/rlock"
)

// supervise is the supervisor of run, a process of its own.
func supervise(args []string) (code int, is bool) { return job.Supervise(args) }

// The exit codes of a shell for a command that it cannot start.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// run takes the lock, runs the command and releases the lock.
func (f *runFlags) run(ctx context.Context, name string, command []string) (err error) {
	t, err := f.plan()
	if err != nil {
		return err
	}
	path, err := program(command[0])
	if err != nil {
		return err
	}
	conn, err := f.connect(rlock.ThisProcess())
	if err != nil {
		return err
	}
	settled := true
	defer func() {
		if settled { // otherwise close would wait for Redis once more, as long as the release did
			_ = conn.close()
		}
	}()
	lock, err := f.lockable(conn.client, name)
	if err != nil {
		return err
	}
	lock = f.outside(name, lock)
	signals := job.Interrupts()
	defer signal.Stop(signals)
	// The hold's context is this one's child, so it must not end before the hold.
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	told := f.tell(waiting, os.Stderr, conn, name, lock)
	held, unlock, err := take(lock, signals, waiting, leave)
	told()
	var around aroundError
	if f.join && errors.As(err, &around) && around.joins {
		return around.replace(path, command)
	}
	if err != nil {
		return f.refused(conn.hinted(err))
	}
	h := hold{lockable: lock, ctx: held}
	env, err := h.environment(name)
	if err != nil {
		return errors.Join(err, unlock())
	}
	result, err := job.Job{
		Path: path, Args: command, Env: env, Leave: f.leave,
		Grace: t.grace, Reserve: t.reserve, Look: t.look,
	}.Run(h, signals)
	cause, released := context.Cause(held), unlock()
	settled = released == nil
	return outcome(result, err, cause, released)
}

// program finds the command's.
func program(command string) (path string, err error) {
	path, err = exec.LookPath(command)
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "", codeError{exitNotFound, fmt.Errorf("%s: no such command", command)}
	case err != nil:
		return "", codeError{exitNotExecutable, err}
	}
	return path, nil
}

// refused is the error of a run that did not get the lock, with the exit code for a busy one.
func (f *runFlags) refused(err error) error {
	var around aroundError
	if errors.As(err, &around) || errors.Is(err, rlock.ErrBusy) && !errors.Is(err, rlock.ErrUnavailable) {
		return codeError{f.busy, err}
	}
	return err
}

// outcome is what a run comes to. If the hold was lost the exit code says so, whatever the command's was: it may have
// been cut short, or have run beside somebody else.
func outcome(result job.Result, failed, cause, released error) error {
	switch {
	case failed != nil && !errors.Is(failed, rlock.ErrLost):
		return codeError{exitSystem, errors.Join(failed, released)}
	case errors.Is(released, rlock.ErrLost):
		return codeError{exitLost, released}
	case result.Cut:
		if cause == nil {
			cause = errors.New("the lock could not be renewed in time; the command was ended")
		}
		return codeError{exitLost, cause}
	case released != nil:
		complain(os.Stderr, released) // the job is done, and the lease ends by itself
	}
	if result.Code != 0 {
		return codeError{code: result.Code}
	}
	return nil
}

// take takes the lock. A signal that would end us ends the wait.
func take(
	lock lockable, signals <-chan os.Signal, waiting context.Context, leave context.CancelFunc,
) (held context.Context, unlock func() error, err error) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		held, unlock, err = lock.take(waiting)
	}()
	var sig os.Signal
	select {
	case sig = <-signals:
		leave()
		<-answered // bounded: a call whose context ends returns at once
	case <-answered:
		select {
		case sig = <-signals:
		default:
			return held, unlock, err
		}
	}
	if err == nil { // granted at the last moment
		err = unlock()
	} else {
		err = nil
	}
	return nil, nil, codeError{128 + int(sig.(syscall.Signal)), err}
}
