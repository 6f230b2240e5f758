package javalib

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

const startLimit = time.Minute

// Process is a JVM with some clients, each of which the server takes for another process's.
type Process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	gone chan struct{} // closed when its output has ended

	mu    sync.Mutex // guards all below
	last  int
	calls map[string]chan<- answer
	ended bool
}

type answer struct {
	text string
	err  error
}

// Start starts a JVM and waits until its clients are connected.
func (p *Program) Start(addr string, clients int) (*Process, error) {
	cmd := p.command(nil, "Load", []string{addr, strconv.Itoa(clients)})
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // whose end ends the program, also when this process dies
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	j := &Process{cmd: cmd, in: in, gone: make(chan struct{}), calls: map[string]chan<- answer{}}
	ready := make(chan bool, 1)
	go j.read(out, ready)
	select {
	case ok := <-ready:
		if ok {
			return j, nil
		}
		err = errors.New("the JVM ended at its start")
	case <-time.After(startLimit):
		err = fmt.Errorf("the JVM was not ready within %v", startLimit)
	}
	return nil, errors.Join(err, j.Close())
}

// read gives each answer to whom it is for. A load's has every sample in one line.
func (j *Process) read(out io.Reader, ready chan<- bool) {
	defer close(j.gone)
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	ready <- err == nil && first == "ready\n"
	for err == nil {
		var line string
		if line, err = lines.ReadString('\n'); err != nil {
			break
		}
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, text, _ := strings.Cut(rest, " ")
		a := answer{text: text}
		if kind != "ok" {
			a = answer{err: errors.New(text)}
		}
		j.mu.Lock()
		call := j.calls[id]
		delete(j.calls, id)
		j.mu.Unlock()
		if call != nil {
			call <- a
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	for _, call := range j.calls {
		call <- answer{err: errors.New("the JVM has ended")}
	}
}

// Do has a thread of the JVM do something, and waits for what comes of it.
func (j *Process) Do(ctx context.Context, thread, operation string, args ...string) (string, error) {
	call := make(chan answer, 1)
	j.mu.Lock()
	if j.ended {
		j.mu.Unlock()
		return "", errors.New("the JVM has ended")
	}
	j.last++
	id := strconv.Itoa(j.last)
	j.calls[id] = call
	words := append([]string{id, thread, operation}, args...)
	_, err := io.WriteString(j.in, strings.Join(words, " ")+"\n") // under the mutex, so that lines do not mix
	j.mu.Unlock()
	if err != nil {
		return "", err
	}
	select {
	case a := <-call:
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Close ends the JVM at once.
func (j *Process) Close() error {
	_ = j.cmd.Process.Kill()
	<-j.gone
	_ = j.cmd.Wait() // the status of a killed program says nothing
	return nil
}
