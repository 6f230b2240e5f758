//go:build unix && !aix

package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Job is a command and how it is run.
type Job struct {
	Path    string        // of the program
	Args    []string      // its arguments, the name first
	Env     []string      // added to our environment
	Grace   time.Duration // SIGTERM comes this long before the validity ends
	Reserve time.Duration // SIGKILL comes this long before the validity ends
	Look    time.Duration // how often the hold is asked until when it is valid
	Leave   bool          // what the command leaves behind goes on, without the lock
}

// Hold is what a job needs of the hold that it runs under.
type Hold interface {
	// ValidUntil is the wall time from which on somebody else may be granted the lock.
	ValidUntil() (time.Time, error)
	// Done is closed when the hold is over.
	Done() <-chan struct{}
}

// Result says how a job ended.
type Result struct {
	Code int  // the exit code: the command's, or 128 and the signal that it died of
	Cut  bool // the command was ended because the hold was, or nearly
}

// runner is one run of a job, on the side of holdfast.
type runner struct {
	Job
	hold    Hold
	wire    wire
	cmd     *exec.Cmd
	signals chan os.Signal
	news    chan message // what the supervisor tells
	gone    chan error   // the supervisor has ended
	alarm   *alarm
	until   instant
	family  family
	ending  *ending // what the supervisor told of the end, nil before
	broken  bool    // the supervisor did not end everything in time: we do
}

// Interrupts returns a channel that gets the signals that would end holdfast, for the time before a job runs. The
// caller gives it to Run, so that none is lost in between, and stops it.
func Interrupts() chan os.Signal {
	signals := make(chan os.Signal, 64)
	notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	return signals
}

// Run runs the job under the hold, and returns when nothing of it is left. Signals that arrive meanwhile, at the
// channel that Interrupts returned, are the command's. An error means that it was not started.
func (j Job) Run(hold Hold, signals chan os.Signal) (Result, error) {
	if err := adopt(); err != nil {
		return Result{}, err
	}
	r := &runner{
		Job: j, hold: hold, signals: signals, news: make(chan message), gone: make(chan error, 1),
	}
	notify(r.signals, forwarded()...)
	var err error
	if r.alarm, err = newAlarm(); err != nil {
		return Result{}, err
	}
	defer r.alarm.close()
	if err := r.start(); err != nil {
		return Result{}, err
	}
	r.loop()
	return r.result(), nil
}

// start starts the supervisor.
func (r *runner) start() error {
	first, err := validity(r.hold.ValidUntil)
	if err != nil {
		return err
	}
	ours, theirs, err := socket()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()
	r.wire, r.until = ours, first
	if err := r.command(theirs); err != nil {
		_ = ours.file.Close()
		return err
	}
	go func() { r.gone <- r.cmd.Wait() }()
	go func() {
		defer close(r.news)
		for {
			m, err := ours.receive()
			if err != nil {
				return // the supervisor is dead: its parent learns it another way
			}
			r.news <- m
		}
	}()
	return nil
}

// command starts the supervisor with its end of the socket. The end keeps its number: descriptors that holdfast has
// inherited belong to the command.
func (r *runner) command(theirs *os.File) error {
	path, err := ourselves()
	if err != nil {
		return err
	}
	fd := int(theirs.Fd())
	group, err := unix.Getpgid(0) // not every Unix has Getpgrp
	if err != nil {
		return os.NewSyscallError("getpgid", err)
	}
	text, err := json.Marshal(orders{
		Socket: fd, Group: group, Path: r.Path, Grace: r.Grace, Reserve: r.Reserve, Leave: r.Leave,
	})
	if err != nil {
		return err
	}
	r.cmd = &exec.Cmd{
		Path: path, Args: append([]string{"holdfast", verb, string(text)}, r.Args...),
		Env:   append(os.Environ(), r.Env...),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		// A signal to our process group is ours to pass on, and must not end the supervisor.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := r.wire.send(message{until, int64(r.until)}); err != nil {
		return err
	}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	return nil
}

// loop goes on until the supervisor has ended.
func (r *runner) loop() {
	look := time.NewTicker(r.Look)
	defer look.Stop()
	news, done := r.news, r.hold.Done()
	for {
		r.plan()
		select {
		case <-look.C:
			r.prolong()
		case <-done:
			done = nil
			r.tell(message{kind: over})
			r.until = min(r.until, sharedNow().add(r.Reserve))
		case m, alive := <-news:
			if !alive {
				news = nil
			}
			r.heed(m)
		case sig := <-r.signals:
			r.tell(message{pass, int64(sig.(syscall.Signal))})
		case <-r.alarm.rings:
			r.enforce()
		case <-r.gone:
			if news != nil {
				for m := range news { // what it said last
					r.heed(m)
				}
			}
			_ = r.wire.file.Close()
			return
		}
	}
}

// prolong tells the supervisor how long the hold is valid now.
func (r *runner) prolong() {
	now, err := validity(r.hold.ValidUntil)
	if err != nil || now <= r.until {
		return // a hold that is over says so by Done
	}
	r.until = now
	r.tell(message{until, int64(now)})
}

// tell sends the supervisor a message. One that cannot be told anything cannot be trusted to end the command.
func (r *runner) tell(m message) {
	if err := r.wire.send(m); err != nil && !errors.Is(err, syscall.EPIPE) {
		r.until = sharedNow()
	}
}

// heed takes in what the supervisor tells.
func (r *runner) heed(m message) {
	switch m.kind {
	case ended:
		e := unpack(m.value)
		r.ending = &e
	case stopped:
		stopLikeTheCommand(m.value != 0, r.signals)
		r.prolong()
		// Where nobody could stop us, a command that insists on the terminal will be stopped again at once.
		time.Sleep(soon)
		r.tell(message{pass, int64(syscall.SIGCONT)})
	}
}

// plan sets the alarm for the instant at which the supervisor must have ended everything.
func (r *runner) plan() {
	at := r.until.add(-r.Reserve / 2)
	if r.broken {
		at = sharedNow().add(soon)
	}
	if err := r.alarm.set(at); err != nil {
		fail(0, err)
	}
}

// enforce ends everything in the supervisor's place: it was stopped, or is too slow. The supervisor itself is spared
// the first time, as it may be about to report.
func (r *runner) enforce() {
	if sharedNow() < r.until.add(-r.Reserve/2) {
		return
	}
	except := r.cmd.Process.Pid
	if r.broken {
		except = 0
	}
	r.broken = true
	r.family.look()
	r.family.signal(syscall.SIGKILL, except)
}

// result is called when the supervisor has ended.
func (r *runner) result() Result {
	if r.ending == nil {
		r.orphans()
		if !r.broken {
			fail(0, errors.New("the supervisor was killed"))
		}
		return Result{Code: exitSoftware, Cut: r.broken}
	}
	r.family.close()
	if r.ending.foreground && (r.ending.signal == syscall.SIGINT || r.ending.signal == syscall.SIGQUIT) {
		// Ctrl-C is meant for the whole job, such as a script that runs holdfast. The terminal told only the command.
		_ = syscall.Kill(0, r.ending.signal)
	}
	return Result{Code: r.ending.code, Cut: r.ending.cut || r.broken}
}

// orphans ends what a supervisor that died has left behind: all of it has become our children. It waits until nothing
// is left, or nothing can be done.
func (r *runner) orphans() {
	defer r.family.close()
	for began, pause := time.Now(), time.Millisecond; time.Since(began) < patience; pause = min(2*pause, soon) {
		r.family.look()
		r.family.signal(syscall.SIGKILL, 0)
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if err == nil && pid == 0 {
				break // some live
			}
		}
		time.Sleep(pause)
	}
	fail(0, errors.New("processes of the command could not be ended: "+strconv.Itoa(len(r.family.members))))
}
