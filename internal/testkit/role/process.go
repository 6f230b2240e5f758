package role

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// patience bounds the wait for a line. Nothing is measured against it.
const patience = time.Minute

// ErrEnded is the error of a wait for a process that has said all that it will say.
var ErrEnded = errors.New("role: the process has ended")

// Process is the test binary in a role, or a program that [Launch] has started.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when all was read, the process was reaped, and err is set
	err  error         // what its status says
	more chan struct{} // has an element if there may be lines that nobody has heard

	mu    sync.Mutex // guards lines
	lines []string   // said and not heard yet
}

// Start starts a process in the role, which is killed at the end of the test.
func (r Role[O]) Start(t testing.TB, orders O) *Process {
	t.Helper()
	text, err := json.Marshal(orders)
	if err != nil {
		t.Fatalf("role: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("role: %v", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"="+r.name+" "+string(text))
	return Launch(t, cmd)
}

// Launch starts any other program that talks in lines, as a role does: it has to end when its input ends. The process
// is killed at the end of the test.
func Launch(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, cmd: cmd, gone: make(chan struct{}), more: make(chan struct{}, 1)}
	if err := p.start(); err != nil {
		t.Fatalf("role: %v", err)
	}
	t.Cleanup(p.Kill)
	return p
}

func (p *Process) start() (err error) {
	if p.cmd.Stderr == nil {
		p.cmd.Stderr = os.Stderr
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	go p.listen(out)
	return nil
}

func (p *Process) listen(out io.Reader) {
	defer close(p.gone)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
	p.err = p.cmd.Wait()
}

// Kill ends the process with SIGKILL, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// Ended waits until the process has ended by itself, and returns an error if that was not within limit, or not without
// an error: the race detector reports by a status.
func (p *Process) Ended(limit time.Duration) error {
	select {
	case <-p.gone:
		return p.err
	case <-time.After(limit):
		return fmt.Errorf("role: the process does not end within %v", limit)
	}
}

// Freeze stops the process, and returns when it stands still.
func (p *Process) Freeze() {
	p.t.Helper()
	require.NoError(p.t, servers.Freeze(p.cmd.Process))
}

// Thaw has a stopped process go on.
func (p *Process) Thaw() {
	p.t.Helper()
	require.NoError(p.t, p.Signal(syscall.SIGCONT))
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Abort ends a process that is stuck, and has it print the stacks of its goroutines before. It waits for that until
// limit. A program that is not Go's may do anything else.
func (p *Process) Abort(limit time.Duration) {
	_ = p.Signal(syscall.SIGQUIT)
	_ = p.Ended(limit)
}

// Say tells the process a line, which [Told] returns there.
func (p *Process) Say(line string) {
	p.t.Helper()
	require.NoError(p.t, p.Send(line))
}

// Send is Say, for processes that may have ended.
func (p *Process) Send(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// Next returns the next line that the process says. It returns ErrEnded after the last one, or an error if there is
// none within limit.
func (p *Process) Next(limit time.Duration) (string, error) {
	over := time.After(limit)
	for gone := false; ; {
		if line, said := p.take(); said {
			return line, nil
		}
		if gone {
			return "", ErrEnded
		}
		select {
		case <-p.more:
		case <-p.gone:
			gone = true // what it said last may have come since
		case <-over:
			return "", fmt.Errorf("role: the process says nothing within %v", limit)
		}
	}
}

func (p *Process) take() (line string, said bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) == 0 {
		return "", false
	}
	line, p.lines = p.lines[0], p.lines[1:]
	return line, true
}

// Hear returns the next line that the process says, and fails the test if there is none.
func (p *Process) Hear() string {
	p.t.Helper()
	line, err := p.Next(patience)
	require.NoError(p.t, err)
	return line
}

// Hears fails the test unless the next line begins with a word, and returns the rest of it.
func (p *Process) Hears(word string) string {
	p.t.Helper()
	line := p.Hear()
	first, rest, _ := strings.Cut(line, " ")
	require.Equal(p.t, word, first, "the process says %q", line)
	return rest
}

// Ask says a line and returns the answer.
func (p *Process) Ask(line string) string {
	p.t.Helper()
	p.Say(line)
	return p.Hear()
}

// Silent fails the test if the process has said something that nobody has heard.
func (p *Process) Silent(message string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.lines, message)
}
