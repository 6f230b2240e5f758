package redisson_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// javaOptions are what the Java program is started with.
type javaOptions struct {
	cluster  bool
	watchdog time.Duration // never, if it is zero
	prefix   string        // of a NameMapper
}

// java is a process with one Redisson client. It ends with the test, and on its own if this process dies.
type java struct {
	t   *testing.T
	id  string // of the client, a UUID
	cmd *exec.Cmd
	in  io.WriteCloser

	mu    sync.Mutex // guards all below
	calls map[string]chan answer
	last  int
	ended bool

	gone chan struct{} // closed when its output has ended
}

// answer is the result of a command.
type answer struct {
	value string
	err   string // exception: message
}

func startJava(t *testing.T, addrs []string, opts javaOptions) *java {
	t.Helper()
	if opts.watchdog == 0 {
		opts.watchdog = never
	}
	mode := "single"
	if opts.cluster {
		mode = "cluster"
	}
	// Small and quickly started, not fast in the long run.
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dfile.encoding=UTF-8",
		"-cp", classPath(t), "Contender", "address="+strings.Join(addrs, ","), "mode="+mode,
		"watchdog="+strconv.FormatInt(opts.watchdog.Milliseconds(), 10), "prefix="+url.QueryEscape(opts.prefix))
	j := &java{t: t, cmd: cmd, calls: make(map[string]chan answer), gone: make(chan struct{})}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	var err error
	j.in, err = cmd.StdinPipe() // its end ends the program
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		j.kill()
		if t.Failed() {
			t.Logf("the Java process's standard error:\n%s", stderr.String())
		}
	})
	ready := make(chan string, 1)
	go j.read(out, ready)
	select {
	case j.id = <-ready:
	case <-time.After(limit):
		t.Fatal("the Java process does not start")
	}
	require.NotEmpty(t, j.id, "the Java process ended at its start")
	return j
}

// read passes each answer to its thread.
func (j *java) read(out io.Reader, ready chan<- string) {
	defer close(j.gone)
	lines := bufio.NewScanner(out)
	if lines.Scan() {
		ready <- strings.TrimPrefix(lines.Text(), "ready ")
	} else {
		ready <- ""
	}
	for lines.Scan() {
		id, rest, _ := strings.Cut(lines.Text(), " ")
		kind, text, _ := strings.Cut(rest, " ")
		text, err := url.QueryUnescape(text)
		a := answer{value: text}
		if kind != "ok" || err != nil {
			a = answer{err: fmt.Sprintf("%s %s", kind, text)}
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
		call <- answer{err: "the Java process has ended"}
	}
}

// kill ends the process with SIGKILL, and returns when it is gone.
func (j *java) kill() {
	_ = j.cmd.Process.Kill()
	<-j.gone
	_ = j.cmd.Wait() // its status says nothing
}

// thread is a Java thread, which does one thing after another.
type thread struct {
	j     *java
	label string
}

func (j *java) thread(label string) thread { return thread{j, label} }

// start gives the thread a command and does not wait for it.
func (th thread) start(operation string, args ...string) <-chan answer {
	th.j.t.Helper()
	words := []string{"", th.label, operation}
	for _, arg := range args {
		words = append(words, url.QueryEscape(arg))
	}
	call := make(chan answer, 1)
	th.j.mu.Lock()
	th.j.last++
	words[0] = strconv.Itoa(th.j.last)
	ended := th.j.ended
	if !ended {
		th.j.calls[words[0]] = call
	}
	// Under the mutex, so that lines do not mix; the program always reads on.
	_, err := io.WriteString(th.j.in, strings.Join(words, " ")+"\n")
	th.j.mu.Unlock()
	require.False(th.j.t, ended, "the Java process has ended")
	require.NoError(th.j.t, err)
	return call
}

// do runs an operation that must succeed, and returns its result.
func (th thread) do(operation string, args ...string) string {
	th.j.t.Helper()
	return javaArrives(th.j.t, th.start(operation, args...))
}

// refused runs an operation that must fail, and returns the exception.
func (th thread) refused(operation string, args ...string) string {
	th.j.t.Helper()
	a := redistest.Receive(th.j.t, limit, th.start(operation, args...), "no answer to "+operation)
	require.NotEmpty(th.j.t, a.err, "%s did not fail", operation)
	return a.err
}

// waiting starts an operation that must wait for the lock, and returns once the thread sleeps and only a
// message, or the end of the lease that it was told of, can wake it.
func (th thread) waiting(operation string, args ...string) <-chan answer {
	th.j.t.Helper()
	call := th.start(operation, args...)
	redistest.Eventually(th.j.t, limit, func() bool {
		return javaArrives(th.j.t, th.start("parked")) == "true"
	}, "the Java thread does not wait")
	require.Empty(th.j.t, call)
	return call
}

// javaArrives waits for an answer that is no error.
func javaArrives(t *testing.T, call <-chan answer) string {
	t.Helper()
	a := redistest.Receive(t, limit, call, "no answer from the Java process")
	require.Empty(t, a.err)
	return a.value
}
