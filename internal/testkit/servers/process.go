package servers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Process is a server that runs as a child of the test binary, and on Linux dies with it, however that ends. Its
// methods may be called by any goroutine.
type Process struct {
	Path string
	Args []string
	Log  string              // the file to which it writes what it says
	As   *syscall.Credential // its account; nil: that of the test binary
	// Forks says that the server works in processes of its own. They are frozen, continued and killed with it.
	Forks bool

	mu     sync.Mutex // guards what follows
	child  *child
	keeper *keeper // while the program and its processes are frozen
}

// child is one run of the program.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has ended and was reaped
}

// Start starts the program.
func (p *Process) Start() error {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append(os.Environ(), "GODEBUG=") // modes of the tests' process are not a server's: etcd uses SHA-1
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()
	cmd.SysProcAttr.Credential = p.As
	if p.As != nil {
		cmd.Dir = "/" // the account might not see the present one
	}
	c := &child{cmd: cmd, gone: make(chan struct{})}
	started := make(chan error, 1)
	go c.run(started)
	if err := <-started; err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = c
	return nil
}

// run starts the program and waits for its end on one thread. The kernel kills a child with Pdeathsig when the thread
// that started it exits, not the process, so that thread must live as long as the child.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.gone)
	if err := c.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	_ = c.cmd.Wait() // a killed program's status says nothing
}

func (p *Process) current() *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child
}

// Alive reports whether the program runs, frozen or not.
func (p *Process) Alive() bool {
	c := p.current()
	if c == nil {
		return false
	}
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// Pid returns the number of the process that was started last.
func (p *Process) Pid() int { return p.current().cmd.Process.Pid }

// Kill ends the program with SIGKILL and returns once it is gone. One that has ended already is no error.
func (p *Process) Kill() error {
	c := p.current()
	if c == nil {
		return nil
	}
	var children []int
	if p.Forks && p.Alive() {
		children = stopTree(p.Pid())
	}
	defer p.keep(nil)
	err := c.cmd.Process.Kill()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it was frozen, so that its number is still its own
	}
	<-c.gone
	for pause := NewBackoff(); !allGone(children); {
		pause.Sleep()
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// End sends the program a signal that ends it, and returns once it is gone.
func (p *Process) End(signal os.Signal) error {
	if !p.Alive() {
		return os.ErrProcessDone
	}
	c := p.current()
	if err := c.cmd.Process.Signal(signal); err != nil {
		return err
	}
	<-c.gone
	return nil
}

// Freeze stops the program with SIGSTOP, and returns when all of it stands still.
func (p *Process) Freeze() error {
	if !p.Alive() {
		return os.ErrProcessDone
	}
	if p.Forks {
		p.keep(nil) // one of an earlier Freeze would continue what is frozen now
		k, err := newKeeper(stopTree(p.Pid()))
		p.keep(k)
		return err
	}
	return Freeze(p.current().cmd.Process)
}

// Freeze stops a process with SIGSTOP and returns when all of it stands still: sending the signal only queues it.
func Freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for pause := NewBackoff(); !frozen(p.Pid); {
		pause.Sleep()
	}
	return nil
}

// stopTree freezes a process and what came from it, and returns the latter. A parent stands still before its children
// are listed, so that it makes no more.
func stopTree(pid int) (below []int) {
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return nil // it has ended
	}
	for pause := NewBackoff(); !frozen(pid); {
		pause.Sleep()
	}
	for _, child := range childrenOf(pid) {
		below = append(append(below, child), stopTree(child)...)
	}
	return below
}

// Thaw lets a frozen program run again.
func (p *Process) Thaw() error {
	if !p.Alive() {
		return os.ErrProcessDone
	}
	if p.Forks {
		continueTree(p.Pid())
		p.keep(nil)
		return nil
	}
	return p.current().cmd.Process.Signal(syscall.SIGCONT)
}

// continueTree lets the children run first, because a parent that runs makes more.
func continueTree(pid int) {
	for _, child := range childrenOf(pid) {
		continueTree(child)
	}
	_ = syscall.Kill(pid, syscall.SIGCONT) // if it has ended it needs none
}

// Output returns the end of what the program has said.
func (p *Process) Output() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return tail(text)
}

// tail is the last lines of a log, and of each its beginning, which says when and what: a server that writes a whole
// request into one line would hide all others.
func tail(text []byte) string {
	const enough, each = 200, 240
	lines := slices.Collect(bytes.Lines(text))
	var said strings.Builder
	for _, line := range lines[max(0, len(lines)-enough):] {
		line = bytes.TrimSuffix(line, []byte("\n"))
		said.Write(line[:min(len(line), each)])
		said.WriteByte('\n')
	}
	return said.String()
}
