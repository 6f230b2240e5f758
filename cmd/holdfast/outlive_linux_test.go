package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// started is a stubborn command that runs under a lock, with its supervisor.
func started(t *testing.T, addr string, flags ...string) (h *holdfast, name string, supervisor int) {
	t.Helper()
	name = redistest.Key(t)
	args := append(append([]string{"run"}, flags...), name, "--", "sh", "-c", stubborn)
	h = prepare(t, addr, args...).start()
	h.awaitPids(stubbornProcesses)
	require.Len(t, h.living(), stubbornProcesses)
	supervisor = childOf(t, h.Process.Pid)
	return h, name, supervisor
}

// childOf returns the child of a process that has one.
func childOf(t *testing.T, parent int) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, of := status(pid); of == parent {
			return pid
		}
	}
	require.FailNow(t, "no child")
	return 0
}

func TestAKilledHoldfastLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h, name, _ := started(t, addr(t), "--lease", "6s", "--grace", "500ms")
	require.NoError(t, h.Process.Kill())
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
}

func TestAKilledProcessGroupOfHoldfastLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	h := prepare(t, addr(t), "run", "--lease", "6s", "--grace", "500ms", name, "--", "sh", "-c", stubborn)
	h.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.start().awaitPids(stubbornProcesses)
	require.NoError(t, syscall.Kill(-h.Process.Pid, syscall.SIGKILL))
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
}

func TestAKilledSupervisorLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	h, name, supervisor := started(t, addr(t))
	client := waiter(t, nil)
	require.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
	require.NoError(t, free(client, name, func() { assert.Empty(t, h.living()) }), "released, long before the lease ends")
	assert.Equal(t, 70, h.wait())
	assert.Contains(t, h.err.String(), "the supervisor was killed")
}

func TestAStoppedHoldfastLosesItsCommandInTime(t *testing.T) {
	t.Parallel()
	h, name, _ := started(t, addr(t), "--lease", "3s")
	require.NoError(t, redistest.Freeze(h.Process))
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
	require.NoError(t, h.Process.Signal(syscall.SIGCONT))
	assert.Equal(t, 74, h.wait(), h.err.String())
}

func TestAStoppedSupervisorIsReplaced(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.Start(t, addr(t))
	h, name, supervisor := started(t, proxy.Addr(), "--lease", "4s")
	process, err := os.FindProcess(supervisor)
	require.NoError(t, err)
	require.NoError(t, redistest.Freeze(process))
	proxy.Blackhole(true)
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
	assert.Equal(t, 74, h.wait(), h.err.String())
	assert.False(t, alive(supervisor))
	proxy.Blackhole(false)
}

// What a command leaves behind is ended before the lock is released, as nobody could tell it of a loss.
func TestWhatACommandLeavesBehindIsEnded(t *testing.T) {
	t.Parallel()
	const leaving = `setsid sh -c 'trap "" TERM; echo $$ >>"$PIDS"; exec sleep 300' &
while ! [ -s "$PIDS" ]; do sleep 0.01; done; exit 5`
	name := redistest.Key(t)
	h := prepare(t, addr(t), "run", "--grace", "200ms", name, "--", "sh", "-c", leaving).start()
	h.awaitPids(1)
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
	assert.Equal(t, 5, h.wait(), h.err.String())
}

func TestWhatACommandLeavesBehindGoesOnWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	const leaving = `setsid sh -c 'echo $$ >>"$PIDS"; exec sleep 300' >/dev/null 2>&1 &
while ! [ -s "$PIDS" ]; do sleep 0.01; done; exit 5`
	name := redistest.Key(t)
	h := prepare(t, addr(t), "run", "--leave-background", name, "--", "sh", "-c", leaving)
	assert.Equal(t, 5, h.run(), h.err.String())
	assert.Len(t, h.living(), 1)
	require.NoError(t, free(waiter(t, nil), name, func() {}))
}

// All that run in a command's process group get a signal, and nobody else: here two, each of which says so.
func TestSignalsReachTheProcessGroup(t *testing.T) {
	t.Parallel()
	const two = `report() { echo "$1 $2"; }
watch() { for s in HUP INT QUIT USR1 USR2 ALRM WINCH 40; do trap "echo $1 $s" $s; done
	trap "exit 3" TERM; echo $$ >>"$PIDS"; while :; do sleep 0.02; done; }
(watch a) & watch b`
	h := prepare(t, addr(t), "run", redistest.Key(t), "--", "bash", "-c", two)
	h.start().awaitPids(2)
	for sig, name := range map[syscall.Signal]string{
		syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGUSR1: "USR1",
		syscall.SIGUSR2: "USR2", syscall.SIGALRM: "ALRM", syscall.SIGWINCH: "WINCH", syscall.Signal(40): "40",
	} {
		require.NoError(t, h.Process.Signal(sig))
		redistest.Eventually(t, limit, func() bool {
			text := h.out.String()
			return strings.Contains(text, "a "+name+"\n") && strings.Contains(text, "b "+name+"\n")
		}, name)
	}
	require.NoError(t, h.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 3, h.wait(), h.err.String())
}

// nohup's command goes on when the terminal is gone, under holdfast too.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	t.Parallel()
	h := prepare(t, addr(t))
	h.Path, h.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP; exec "$@"`, "sh", h.Path,
		"run", redistest.Key(t), "--", "sh", "-c", `kill -HUP $PPID $$; echo on`}
	require.Zero(t, h.run(), h.err.String())
	assert.Equal(t, "on\n", h.out.String())
}

// A process without a file left says so, and not that a file system is missing (defect G69).
func TestTooFewOpenFilesAreTold(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	told := 0
	for files := 6; files < 16; files++ {
		h := prepare(t, addr(t), "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, files), "sh",
			self, "run", "--lease", "1s", redistest.Key(t), "true")
		h.Path, err = exec.LookPath("sh")
		require.NoError(t, err)
		if h.run() != 0 {
			assert.NotContains(t, h.err.String(), "mounted")
			told += strings.Count(h.err.String(), "too many open files")
		}
	}
	assert.Positive(t, told)
}
