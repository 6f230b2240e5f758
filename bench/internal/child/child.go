// Package child runs the servers of a measurement as child processes, which end with this program however it ends.
package child

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
)

// Below the range from which the kernel takes the ports of outgoing connections.
const firstPort, lastPort = 20000, 29999

// Port is one that is probably free.
func Port() int { return firstPort + rand.IntN(lastPort-firstPort+1) }

// Process is a running program.
type Process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// Start starts a program.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, gone: make(chan struct{})}
	cmd.SysProcAttr = dieWithParent()
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run starts the program and waits for its end on one thread: the kernel ends a child with that thread,
// not with the process.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.gone)
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // a killed program's status says nothing
	}
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Kill ends the process and waits for its end.
func (p *Process) Kill() error {
	err := p.cmd.Process.Kill()
	<-p.gone
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
