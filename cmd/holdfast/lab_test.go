//go:build unix && !aix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// limit is for what must happen some time: it only catches hangs.
const limit = time.Minute

// holdfast is one run of the command line, in a process of its own.
type holdfast struct {
	*exec.Cmd
	t        *testing.T
	out, err output
	pids     string // the file to which the commands write their process numbers
	ended    chan struct{}
}

// prepare makes a command line that has not been started.
func prepare(t *testing.T, addr string, args ...string) *holdfast {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	h := &holdfast{
		t: t, Cmd: exec.Command(self, args...), out: output(dir + "/out"), err: output(dir + "/err"),
		pids: dir + "/pids", ended: make(chan struct{}),
	}
	h.Cmd.Env = append(os.Environ(), roleEnv+"=holdfast", "REDIS_URL=redis://"+addr, "PIDS="+h.pids)
	h.Cmd.Stdout, h.Cmd.Stderr = h.out.create(t), h.err.create(t)
	return h
}

// output is a file with what a process prints. A pipe would stay open as long as anything that was started lives.
type output string

func (o output) create(t *testing.T) *os.File {
	file, err := os.Create(string(o))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func (o output) String() string {
	text, _ := os.ReadFile(string(o))
	return string(text)
}

// start starts it; it is killed at the end of the test.
func (h *holdfast) start() *holdfast {
	h.t.Helper()
	require.NoError(h.t, h.Cmd.Start())
	go func() {
		defer close(h.ended)
		_ = h.Cmd.Wait()
	}()
	h.t.Cleanup(func() {
		_ = h.Cmd.Process.Kill()
		<-h.ended
		for _, pid := range h.living() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return h
}

// run starts it and returns its exit code.
func (h *holdfast) run() int {
	h.t.Helper()
	return h.start().wait()
}

func (h *holdfast) wait() int {
	h.t.Helper()
	select {
	case <-h.ended:
	case <-time.After(limit):
		require.FailNow(h.t, "holdfast does not end", h.err.String())
	}
	return h.Cmd.ProcessState.ExitCode()
}

// recorded returns the numbers that the commands wrote to $PIDS.
func (h *holdfast) recorded() (pids []int) {
	text, _ := os.ReadFile(h.pids)
	for line := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitPids waits until n processes have written their numbers.
func (h *holdfast) awaitPids(n int) []int {
	h.t.Helper()
	redistest.Eventually(h.t, limit, func() bool {
		select {
		case <-h.ended:
			require.FailNow(h.t, "holdfast has ended", h.err.String())
		default:
		}
		return len(h.recorded()) >= n
	}, "the command runs")
	return h.recorded()
}

// living returns which of the recorded processes live.
func (h *holdfast) living() (pids []int) {
	for _, pid := range h.recorded() {
		if alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process can run. A zombie cannot, even if nobody has reaped it.
func alive(pid int) bool {
	state, _ := status(pid)
	return state != "" && state != "Z" && state != "X"
}

// status is the letter that /proc has for what a process does, T if it is stopped, and its parent. It is empty if there
// is no such process.
func status(pid int) (state string, parent int) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// stubborn is a command with a child and a grandchild in a session of its own. Each ignores what can be ignored.
const stubborn = `trap '' TERM HUP INT
record='echo $$ >>"$PIDS"; exec sleep 300'
setsid sh -c "setsid sh -c '$record' & $record" &
eval "$record"`

// stubbornProcesses is how many there are.
const stubbornProcesses = 3

// waiter is a client that wants a lock for itself.
func waiter(t *testing.T, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	client, err := rlock.NewClient(rdb, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// free waits until the lock is free, and calls then.
func free(client *rlock.Client, name string, then func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, unlock, err := rlock.New(client, name).Lock(ctx)
	if err != nil {
		return err
	}
	then()
	return unlock()
}

// addr is the shared server's.
func addr(t *testing.T) string { return redistest.Shared(t).Addr() }

// stdin is a file that a command can read.
func stdin(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, errors.Join(err, w.Close()))
	t.Cleanup(func() { _ = r.Close() })
	return r
}
