package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a client process as the run sees it.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	told chan string   // its output besides its record; closed when all of it was read
	gone chan struct{} // closed when it has ended, and err is set
	err  error         // that status
}

// launch starts this program as a client that dials addr.
func launch(number, generation int, addr string, cfg Config, r *record) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{
		name: fmt.Sprintf("client-%d.%d", number, generation), cmd: exec.Command(self),
		told: make(chan string, 16), gone: make(chan struct{}),
	}
	p.cmd.Env = append(os.Environ(),
		envAddr+"="+addr, envNumber+"="+strconv.Itoa(number), envLease+"="+cfg.Lease.String(),
		envWorkers+"="+strconv.Itoa(cfg.Workers), envSite+"="+string(cfg.Site),
		envForgets+"="+strconv.FormatBool(cfg.Forgets), envLinger+"="+strconv.FormatBool(cfg.Linger),
		envSeed+"="+strconv.FormatUint(cfg.Seed+uint64(number)<<32+uint64(generation)<<40, 10))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil { // its end ends the client if this process dies
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out, r)
	return p, nil
}

func (p *process) listen(out io.Reader, r *record) {
	defer close(p.gone)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == linePaused || strings.HasPrefix(line, lineLeft+" ") {
			p.told <- line
			continue
		}
		if exported, is := strings.CutPrefix(line, lineExport+" "); is {
			r.export(p, exported)
			continue
		}
		r.take(p, line)
	}
	close(p.told)
	p.err = p.cmd.Wait()
}

func (p *process) say(order string) error {
	_, err := io.WriteString(p.in, order+"\n")
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// hear returns the next output of the process, besides its record.
func (p *process) hear(limit time.Duration) (string, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line, ok := <-p.told:
		if !ok {
			return "", fmt.Errorf("%s ended by itself", p.name)
		}
		return line, nil
	case <-timer.C:
		return "", fmt.Errorf("%s says nothing within %v: a call is stuck", p.name, limit)
	}
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// kill ends the process with SIGKILL, and returns when all its output was read.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	for range p.told {
	}
	<-p.gone
}

// ended waits for the process to end by itself, which must be without an error: the race detector reports by the
// status.
func (p *process) ended(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.gone:
	case <-timer.C:
		return errors.New(p.name + " does not end")
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w", p.name, p.err)
	}
	return nil
}
