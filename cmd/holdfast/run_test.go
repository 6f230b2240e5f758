//go:build unix && !aix

package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Also of a key that another program has, which was a failure without a name (defect F18).
func TestExitCodes(t *testing.T) {
	t.Parallel()
	client := waiter(t, nil)
	busy := redistest.Key(t)
	_, unlock, err := rlock.New(client, busy).Lock(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unlock()) })
	foreign := redistest.Key(t)
	require.NoError(t, redistest.Shared(t).Client(t).Set(context.Background(), foreign, "x", 0).Err())
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	name := redistest.Key(t)
	for what, test := range map[string]struct {
		args []string
		want int
	}{
		"the command's":            {[]string{name + "1", "--", "sh", "-c", "exit 7"}, 7},
		"success":                  {[]string{name + "2", "true"}, 0},
		"a signal":                 {[]string{name + "3", "--", "sh", "-c", "kill -TERM $$"}, 128 + 15},
		"kill -9":                  {[]string{name + "4", "--", "sh", "-c", "kill -KILL $$"}, 128 + 9},
		"no such command":          {[]string{name, "--", "no-such-command"}, 127},
		"no such file":             {[]string{name, "--", dir + "/none"}, 127},
		"no such interpreter":      {[]string{name + "5", "--", script("lost", "#!/no/such/shell\n", 0o700)}, 127},
		"not executable":           {[]string{name, "--", script("data", "", 0o600)}, 126},
		"no program":               {[]string{name + "6", "--", script("text", "echo no shell", 0o700)}, 126},
		"no command":               {[]string{name}, 64},
		"no command behind --":     {[]string{name, "--"}, 64},
		"unknown kind":             {[]string{"--kind", "mutex", name, "true"}, 64},
		"no permits":               {[]string{"--kind", "sem:0", name, "true"}, 64},
		"a grace beyond the lease": {[]string{"--grace", "20s", name, "true"}, 64},
		"-n and -w":                {[]string{"-n", "-w", "1s", name, "true"}, 64},
		"no time to keep it":       {[]string{"--min-hold", "0s", name, "true"}, 64},
		"a kind that keeps none":   {[]string{"--min-hold", "1s", "--kind", "fair", name, "true"}, 64},
		"another program's key":    {[]string{foreign, "true"}, 65},
		"busy, not waiting":        {[]string{"-n", busy, "true"}, 75},
		"busy, waiting":            {[]string{"-w", "1s", busy, "true"}, 75},
		"busy, -E":                 {[]string{"-n", "-E", "1", busy, "true"}, 1},
		"its own":                  {[]string{name + "7", "--", "sh", "-c", "exit 75"}, 75},
		"no server": {[]string{
			"--redis", "redis://127.0.0.1:1", "--lease", "100ms", name, "true"}, 69},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := prepare(t, addr(t), append([]string{"run"}, test.args...)...)
			assert.Equal(t, test.want, h.run(), h.err.String())
		})
	}
}

func TestTheCommandHasOurInputAndOutputAndTheHoldsNumbers(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	h := prepare(t, addr(t), "run", name, "--", "sh", "-c",
		`cat; echo "$HOLDFAST_NAME $HOLDFAST_FENCE $HOLDFAST_ID"; echo complaint >&2; cat <&3`)
	h.Stdin = stdin(t, "input\n")
	h.ExtraFiles = []*os.File{stdin(t, "third\n")}
	require.Zero(t, h.run(), h.err.String())
	assert.Regexp(t, `^input\n`+name+` \d+ [0-9a-f-]+:\d+\nthird\n$`, h.out.String())
	assert.Equal(t, "complaint\n", h.err.String())
}

func TestEveryKindExcludesItsOwn(t *testing.T) {
	t.Parallel()
	for kind, together := range map[string]bool{
		"rlock": false, "fair": false, "write": false, "read": true, "sem:1": false, "sem:2": true,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Key(t)
			first := prepare(t, addr(t), "run", "--kind", kind, name, "--", "sh", "-c", `echo $$ >>"$PIDS"; exec sleep 300`)
			first.start().awaitPids(1)
			second := prepare(t, addr(t), "run", "--kind", kind, "-n", name, "--", "sh", "-c", `echo "[$HOLDFAST_FENCE]"`)
			second.Env = append(second.Env, "HOLDFAST_FENCE=1") // of a command around it
			if together {
				assert.Zero(t, second.run(), second.err.String())
				assert.NotContains(t, second.out.String(), "[1]")
			} else {
				assert.Equal(t, 75, second.run(), second.err.String())
			}
			require.NoError(t, first.Process.Signal(syscall.SIGTERM))
			assert.Equal(t, 128+15, first.wait())
		})
	}
}

// A hold that is renewed for several leases ends no command: the grace is far from it.
func TestARenewedHoldLetsTheCommandRun(t *testing.T) {
	t.Parallel()
	h := prepare(t, addr(t), "run", "--lease", "2s", "--grace", "1s", redistest.Key(t), "--", "sleep", "5")
	assert.Zero(t, h.run(), h.err.String())
}

func TestASignalEndsTheWait(t *testing.T) {
	t.Parallel()
	client, name := waiter(t, nil), redistest.Key(t)
	lock := rlock.New(client, name)
	_, unlock, err := lock.Lock(context.Background())
	require.NoError(t, err)
	h := prepare(t, addr(t), "run", name, "--", "sh", "-c", `echo $$ >>"$PIDS"`).start()
	redistest.Eventually(t, limit, func() bool {
		info, err := lock.Inspect(context.Background())
		return err == nil && info.Waiters > 0
	}, "holdfast waits")
	require.NoError(t, h.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 128+2, h.wait(), h.err.String())
	assert.Empty(t, h.recorded(), "the command was not started")
	require.NoError(t, unlock())
	require.NoError(t, free(client, name, func() {}), "nothing was left behind")
}

// An operator who breaks the lock gives it to somebody else: the command ends at once, without a grace.
func TestABrokenLockEndsTheCommand(t *testing.T) {
	t.Parallel()
	client, name := waiter(t, nil), redistest.Key(t)
	h := prepare(t, addr(t), "run", "--lease", "3s", name, "--", "sh", "-c", stubborn).start()
	h.awaitPids(stubbornProcesses)
	require.NoError(t, rlock.New(client, name).Break(context.Background()))
	assert.Equal(t, 74, h.wait(), h.err.String())
	assert.Empty(t, h.living())
	assert.Contains(t, h.err.String(), "lost")
}

func TestACommandThatHeedsTheGraceCleansUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := prepare(t, server.Addr(), "run", "--lease", "3s", redistest.Key(t), "--", "sh", "-c",
		`trap 'echo bye; exit 0' TERM; echo $$ >>"$PIDS"; while :; do sleep 0.1; done`).start()
	h.awaitPids(1)
	server.Stop()
	assert.Equal(t, 74, h.wait(), "the work was cut short, whatever the command says of it: %s", h.err.String())
	assert.Equal(t, "bye\n", h.out.String())
	server.Continue()
}
