package redistest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a server that runs as a child of the test binary.
type process struct {
	path string
	args []string
	log  string

	mu    sync.Mutex // guards child
	child *child
}

// child is one run of the program.
type child struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has ended and was reaped
}

func newProcess(path, dir string, args []string) *process {
	return &process{path: path, args: args, log: filepath.Join(dir, "server.log")}
}

func (p *process) start() error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = dieWithParent()
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

func (p *process) current() *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.child
}

func (p *process) alive() bool {
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

func (p *process) pid() int { return p.current().cmd.Process.Pid }

func (p *process) kill() error {
	c := p.current()
	if c == nil {
		return nil
	}
	err := c.cmd.Process.Kill()
	<-c.gone
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

func (p *process) freeze() error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	return Freeze(p.current().cmd.Process)
}

// Freeze stops a process with SIGSTOP and returns when all of it stands still: sending the signal only queues it.
func Freeze(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for pause := newBackoff(); !frozen(p.Pid); {
		pause.sleep()
	}
	return nil
}

func (p *process) thaw() error {
	if !p.alive() {
		return os.ErrProcessDone
	}
	return p.current().cmd.Process.Signal(syscall.SIGCONT)
}

func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return tail(text)
}

func tail(text []byte) string {
	const enough = 2000
	return string(text[max(0, len(text)-enough):])
}

// backoff paces polling: fast at first, never slower than a test would notice.
type backoff struct{ next time.Duration }

func newBackoff() *backoff { return &backoff{next: 2 * time.Millisecond} }

func (b *backoff) sleep() {
	time.Sleep(b.next)
	b.next = min(b.next*5/4, 10*time.Millisecond)
}
