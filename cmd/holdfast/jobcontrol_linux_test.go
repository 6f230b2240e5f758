package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// patient is a command of two processes that ends when there is a file. bash runs it: dash starts a process by vfork, and
// one that is stopped between that and its exec leaves dash waiting in a state in which no signal stops it.
const patient = `sleep 300 & echo $! $$ >>"$PIDS"; while ! [ -e "$PIDS.end" ]; do sleep 0.05; done; kill $!; echo bye`

// shell is an interactive shell on a screen of its own, with $HOLDFAST and $NAME.
func shell(t *testing.T, name string) (*screen, *holdfast) {
	t.Helper()
	s := openScreen(t)
	h := s.on(prepare(t, addr(t)))
	h.Env = append(h.Env, "HOLDFAST="+h.Path, "NAME="+name, "PATIENT="+patient, "PS1=> ", "LC_ALL=C")
	h.Path, h.Args = "/bin/bash", []string{"bash", "--norc", "--noprofile", "--noediting", "-i"}
	h.start()
	s.await("> ")
	return s, h
}

// awaitStopped waits until all these processes are stopped, or none is.
func awaitStopped(t *testing.T, stopped bool, pids ...int) {
	t.Helper()
	redistest.Eventually(t, limit, func() bool {
		for _, pid := range pids {
			if isStopped(pid) != stopped {
				return false
			}
		}
		return true
	}, fmt.Sprintf("processes %v are stopped: %v", pids, stopped))
}

func isStopped(pid int) bool {
	state, _ := status(pid)
	return state == "T"
}

// Ctrl-Z gives the prompt back, and fg goes on: the command with the terminal to itself, in a pipeline where the
// terminal tells holdfast instead of the command, and in a script that is the shell's job.
func TestCtrlZStopsTheJobUntilItIsContinued(t *testing.T) {
	t.Parallel()
	for what, line := range map[string]string{
		"alone":    `"$HOLDFAST" run --lease 5m "$NAME" -- bash -c "$PATIENT"`,
		"pipeline": `"$HOLDFAST" run --lease 5m "$NAME" -- bash -c "$PATIENT" | cat`,
		"script":   `sh -c '"$HOLDFAST" run --lease 5m "$NAME" -- bash -c "$PATIENT"; exit $?'`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, h := shell(t, redistest.Key(t))
			s.typed(line + "\n")
			pids := h.awaitPids(2)
			_, supervisor := status(pids[1])
			_, ourselves := status(supervisor)
			job := append(pids, ourselves)
			awaitStopped(t, false, job...)
			s.typed("\x1a")
			awaitStopped(t, true, job...)
			s.await("Stopped")
			assert.False(t, isStopped(supervisor), "it watches the validity")
			s.typed("fg\n")
			awaitStopped(t, false, job...)
			require.NoError(t, os.WriteFile(h.pids+".end", nil, 0o600))
			s.await("bye")
			s.typed("echo code=$?.\n")
			s.await("code=0.")
			s.typed("exit\n")
			h.wait()
		})
	}
}

// A job that somebody has stopped and forgotten gives the lock up: the command is ended, and only then is the lock
// somebody else's.
func TestAForgottenStoppedJobLosesItsCommandInTime(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	s, h := shell(t, name)
	s.typed(`"$HOLDFAST" run --lease 6s "$NAME" -- bash -c "trap '' TERM; $PATIENT"` + "\n")
	pids := h.awaitPids(2)
	s.typed("\x1a")
	s.await("Stopped")
	require.NoError(t, free(waiter(t, nil), name, func() { assert.Empty(t, h.living()) }))
	assert.Len(t, pids, 2)
	s.typed("fg\n")
	s.await("holdfast: ") // says why
	s.typed("echo code=$?.\n")
	s.await("code=74.")
	s.typed("exit\n")
	h.wait()
}

// Where no shell waits for it, holdfast passes SIGTSTP on and stays awake: the stopped command keeps the lock.
func TestAStoppedCommandKeepsTheLock(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	h := prepare(t, addr(t), "run", "--lease", "6s", name, "--", "bash", "-c", patient)
	h.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // and no terminal
	pids := h.start().awaitPids(2)
	require.NoError(t, h.Process.Signal(syscall.SIGTSTP))
	awaitStopped(t, true, pids...)
	assert.False(t, isStopped(h.Process.Pid))
	lock := rlock.New(waiter(t, nil), name)
	ends := func() int64 {
		info, err := lock.Inspect(t.Context())
		require.NoError(t, err)
		require.Len(t, info.Holders, 1)
		return info.Holders[0].TTL.Milliseconds()
	}
	least := ends()
	redistest.Eventually(t, limit, func() bool {
		now := ends()
		renewed := now > least
		least = min(least, now)
		return renewed
	}, "the lock is renewed")
	awaitStopped(t, true, pids...)
	require.NoError(t, h.Process.Signal(syscall.SIGCONT))
	awaitStopped(t, false, pids...)
	require.NoError(t, os.WriteFile(h.pids+".end", nil, 0o600))
	assert.Zero(t, h.wait(), h.err.String())
	assert.Equal(t, "bye\n", h.out.String())
}

// Ctrl-Z does nothing where nobody could continue the job: the command goes on.
func TestCtrlZWithoutAShellDoesNothing(t *testing.T) {
	t.Parallel()
	s := openScreen(t)
	h := s.on(prepare(t, addr(t), "run", redistest.Key(t), "--", "bash", "-c",
		`trap "echo again" CONT; echo $$ >>"$PIDS"; while ! [ -e "$PIDS.end" ]; do sleep 0.05; done`))
	pids := h.start().awaitPids(1)
	s.typed("\x1a")
	s.await("again")
	awaitStopped(t, false, append(pids, h.Process.Pid)...)
	require.NoError(t, os.WriteFile(h.pids+".end", nil, 0o600))
	assert.Zero(t, h.wait(), s.text())
}
