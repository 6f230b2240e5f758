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

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// patience bounds the wait for a line. Nothing is measured against it.
const patience = time.Minute

// ErrEnded is the error of a wait for a process that has said all that it will say.
var ErrEnded = errors.New("role: the process has ended")

// Process is the test binary in a role.
type Process struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when all was read and the process was reaped
	more chan struct{} // has an element if there may be lines that nobody has heard

	mu    sync.Mutex // guards lines
	lines []string   // said and not heard yet
}

// Start starts a process in the role, which is killed at the end of the test.
func (r Role[O]) Start(t testing.TB, orders O) *Process {
	t.Helper()
	text, err := json.Marshal(orders)
	require.NoError(t, err)
	p := &Process{t: t, cmd: exec.Command(os.Args[0]), gone: make(chan struct{}), more: make(chan struct{}, 1)}
	p.cmd.Env = append(os.Environ(), variable+"="+r.name+" "+string(text))
	p.cmd.Stderr = os.Stderr
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go p.listen(out)
	t.Cleanup(p.Kill)
	return p
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
	_ = p.cmd.Wait() // most are killed, and their status says nothing
}

// Kill ends the process with SIGKILL, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// Freeze stops the process, and returns when it stands still.
func (p *Process) Freeze() {
	p.t.Helper()
	require.NoError(p.t, redistest.Freeze(p.cmd.Process))
}

// Thaw has a stopped process go on.
func (p *Process) Thaw() { p.Signal(syscall.SIGCONT) }

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// Say tells the process a line, which [Told] returns there.
func (p *Process) Say(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(p.t, err)
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
