//go:build unix && !aix

package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// verb is the hidden command that makes this program a supervisor.
const verb = "__supervise"

// orders are what the supervisor is started with.
type orders struct {
	Socket  int           `json:"socket"` // the inherited end of the wire
	Group   int           `json:"group"`  // holdfast's process group
	Path    string        `json:"path"`   // of the command
	Grace   time.Duration `json:"grace"`
	Reserve time.Duration `json:"reserve"`
	Leave   bool          `json:"leave,omitempty"` // what the command leaves behind goes on
}

// Supervise runs the supervisor and returns its exit code, if args are a supervisor's.
func Supervise(args []string) (code int, is bool) {
	if len(args) < 4 || args[1] != verb {
		return 0, false
	}
	var o orders
	if err := json.Unmarshal([]byte(args[2]), &o); err != nil {
		return fail(exitSoftware, err), true
	}
	ours, err := open(o.Socket)
	if err != nil {
		return fail(exitSoftware, err), true
	}
	s := &supervisor{orders: o, wire: ours, argv: args[3:]}
	e := s.run()
	_ = s.wire.send(message{ended, e.pack()}) // without a reader nobody wants to know
	return e.code, true
}

func fail(code int, err error) int {
	_, _ = fmt.Fprintln(os.Stderr, "holdfast:", err)
	return code
}

// supervisor is the state of the supervisor's process. Only its main loop uses it.
type supervisor struct {
	orders
	wire wire
	argv []string

	tty     *terminal
	child   int  // the command's number, and its process group's
	reaped  bool // the command has ended, and its number may be used again
	family  family
	alarm   *alarm
	until   instant // the hold is valid until then
	ending  ending  // as far as it is known
	phase   phase
	killAt  instant       // in phase terminating
	gaveTTY bool          // the command lost the foreground when it was stopped, and gets it back
	orphan  bool          // holdfast is dead
	killing instant       // when the killing began
	pause   time.Duration // until everything is killed again
	warned  bool          // of processes that cannot be killed
}

// A phase is what the supervisor does. It only grows.
type phase int

const (
	running     phase = iota
	terminating       // everything has got SIGTERM
	killed            // everything gets SIGKILL, again and again
)

// run starts the command and returns when nothing is left of it.
func (s *supervisor) run() ending {
	if err := adopt(); err != nil {
		return ending{code: fail(exitSystem, err)}
	}
	first, err := s.wire.receive()
	if err != nil || first.kind != until {
		return ending{code: exitSoftware} // holdfast is dead, and nothing was started
	}
	s.until = instant(first.value)
	if s.alarm, err = newAlarm(); err != nil {
		return ending{code: fail(exitSystem, err)}
	}
	if sharedNow() >= s.until.add(-s.Reserve) {
		return ending{code: exitSoftware, cut: true}
	}
	// Their default would end or stop the supervisor. The command gets the defaults back.
	signals := make(chan os.Signal, 64)
	notify(signals, forwarded()...)
	if code, err := s.start(); err != nil {
		return ending{code: fail(code, err)}
	}
	// To give the terminal to another group, from the background. Ignored from here on only: the command would inherit
	// it.
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	hurry()
	s.loop(signals)
	s.tty.pass(s.child, s.Group)
	return s.ending
}

// start starts the command. With the error comes the exit code of a shell in that case.
func (s *supervisor) start() (code int, err error) {
	attr := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: attributes()}
	if s.tty = openTerminal(s.Group); s.tty.whole() {
		attr.Sys.Foreground, attr.Sys.Ctty = true, s.tty.fd()
	}
	child, err := startForGood(s.Path, s.argv, attr)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return exitNotFound, err
	case err != nil:
		return exitNotExecutable, err
	}
	s.child = child.Pid
	return 0, child.Release() // reap waits for it
}

// startForGood starts a process from a thread that lives as long as this process. The kernel takes the end of that
// thread for the death of the parent. The main loop is not locked to a thread: it would be woken later.
func startForGood(path string, argv []string, attr *os.ProcAttr) (child *os.Process, err error) {
	started := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		child, err = os.StartProcess(path, argv, attr)
		close(started)
		select {}
	}()
	<-started
	return child, err
}

// loop goes on until nothing is left.
func (s *supervisor) loop(signals <-chan os.Signal) {
	messages, changes := make(chan message), make(chan change)
	go receiveAll(s.wire, messages)
	go reap(changes)
	for {
		s.plan()
		select {
		case m, alive := <-messages:
			if !alive {
				messages, s.orphan = nil, true
				s.terminate(sharedNow().add(s.Grace))
			}
			s.obey(m)
		case c, some := <-changes:
			if !some {
				return
			}
			s.note(c)
		case sig := <-signals:
			s.forward(sig.(syscall.Signal))
		case <-s.alarm.rings:
			s.ring()
		}
		if s.finished() {
			return
		}
	}
}

// receiveAll passes on what comes over the wire, and closes the channel when the other process is dead.
func receiveAll(w wire, to chan<- message) {
	defer close(to)
	for {
		m, err := w.receive()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				fail(0, err)
			}
			return
		}
		to <- m
	}
}
