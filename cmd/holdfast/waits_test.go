//go:build unix && !aix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/operate"
)

// awaitErr waits until holdfast has said something on standard error.
func (h *holdfast) awaitErr(text string) {
	h.t.Helper()
	redistest.Eventually(h.t, limit, func() bool { return strings.Contains(h.err.String(), text) }, text)
}

// A run that waits for another one says which process of which host has the lock, and list tells it too (defects F17 and
// F18).
func TestARunSaysWhoHasTheLock(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	first := prepare(t, addr(t), "run", name, "--", "sh", "-c", `echo $$ >>"$PIDS"; while ! [ -e "$PIDS.end" ]; do sleep 0.05; done`)
	first.start().awaitPids(1)
	quiet := prepare(t, addr(t), "run", "--quiet", name, "true").start()
	second := prepare(t, addr(t), "run", name, "--", "echo", "in").start()
	host, err := os.Hostname()
	require.NoError(t, err)
	owner := fmt.Sprintf("%s pid %d ", host, first.Process.Pid)
	second.awaitErr("\n")
	assert.Contains(t, second.err.String(), "holdfast: waiting for "+name+", held by "+owner)
	list := prepare(t, addr(t), "list", "--match", operate.Quote(name))
	assert.Zero(t, list.run(), list.err.String())
	assert.Contains(t, list.out.String(), owner)
	require.NoError(t, os.WriteFile(first.pids+".end", nil, 0o600))
	assert.Zero(t, second.wait(), second.err.String())
	assert.Equal(t, "in\n", second.out.String())
	assert.Equal(t, 1, strings.Count(second.err.String(), "\n"), second.err.String())
	assert.Zero(t, quiet.wait())
	assert.Empty(t, quiet.err.String())
}

// What a person sees of a Redis that is away or refuses: a run that waits says why, long before it gives up, and so does
// every other command when it ends. Each says it once (defects F17 and F18).
func TestWhatAPersonSeesOfARedisThatDoesNotServe(t *testing.T) {
	t.Parallel()
	hung, locked := redistest.Start(t), redistest.Start(t)
	hung.Stop()
	t.Cleanup(hung.Continue)
	require.NoError(t, locked.Client(t).ConfigSet(context.Background(), "requirepass", "secret").Err())
	tls := faultproxy.Start(t, addr(t)) // a server with TLS hangs up on what it does not understand
	tls.On(func(faultproxy.Request) bool { return true }, faultproxy.CutBefore).Times(-1)
	for what, test := range map[string]struct {
		url, says string
		denies    bool
	}{
		"no server":      {"redis://127.0.0.1:1", "connection refused", false},
		"it hangs":       {"redis://" + hung.Addr(), hung.Addr(), false},
		"it has TLS":     {"redis://" + tls.Addr(), "use rediss:// or --tls", false},
		"it has no TLS":  {"rediss://" + addr(t), "use redis:// without", false},
		"no password":    {"redis://" + locked.Addr(), "Redis asks for credentials", true},
		"wrong password": {"redis://:mistaken@" + locked.Addr(), "Redis refused the credentials", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			code := 69
			if test.denies {
				code = 77
			}
			// A short lease has short limits for what list and watch ask; run has the default ones.
			run := prepare(t, "", "--redis", test.url, "run", redistest.Key(t), "true").start()
			for _, command := range []string{"list", "watch"} {
				h := prepare(t, "", "--redis", test.url, "--lease", "1500ms", command)
				assert.Equal(t, code, h.run(), h.err.String())
				assert.Equal(t, 1, strings.Count(h.err.String(), "\n"), h.err.String())
				assert.Contains(t, h.err.String(), test.says)
				assert.Empty(t, h.out.String())
			}
			run.awaitErr(test.says)
			if test.denies {
				assert.Equal(t, code, run.wait())
				assert.Contains(t, run.err.String(), "Redis denies access")
				assert.NotContains(t, run.err.String(), "mistaken")
				return
			}
			assert.Contains(t, run.err.String(), "holdfast: waiting: Redis does not answer")
			require.NoError(t, run.Process.Signal(syscall.SIGTERM))
			assert.Equal(t, 128+15, run.wait(), "it had given up: %s", run.err.String())
			// The client's own log says it too where this takes seconds.
			assert.Equal(t, 1, strings.Count(run.err.String(), "holdfast: waiting"), run.err.String())
		})
	}
}

// A watch whose Redis stops answering says so on a line of its own, goes on, and shows the next table (defect F18).
func TestAWatchGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := prepare(t, server.Addr(), "watch", "--interval", "100ms", "--lease", "600ms").start()
	tables := func() int { return strings.Count(h.out.String(), "NAME") }
	redistest.Eventually(t, limit, func() bool { return tables() > 0 }, "a table")
	server.Stop()
	h.awaitErr("cannot list locks")
	before := tables()
	server.Continue()
	redistest.Eventually(t, limit, func() bool { return tables() > before }, "another table")
	require.NoError(t, h.Process.Signal(syscall.SIGTERM))
	assert.Zero(t, h.wait(), h.err.String())
	for line := range strings.Lines(h.err.String()) {
		assert.Regexp(t, "^holdfast: .*cannot list locks: .*"+server.Addr()+".*\n$", line)
	}
}

// An operator whose Sentinels are all away reads one sentence, in which every one of them has its reason: neither the
// log of go-redis, which has a line for each dial, nor the name of this program twice.
func TestAnErrorIsOneLine(t *testing.T) {
	t.Parallel()
	h := prepare(t, addr(t), "list", "--sentinel", "127.0.0.1:1,127.0.0.1:2", "--master", "mymaster")
	assert.Equal(t, 69, h.run())
	assert.Regexp(t, "^holdfast: cannot list locks: Redis is unavailable: .*127.0.0.1:1.*\n$", h.err.String())
	assert.Contains(t, h.err.String(), "127.0.0.1:2")

	h = prepare(t, addr(t), "run", "--lease", "1ms", redistest.Key(t), "true")
	assert.Equal(t, 64, h.run())
	assert.Equal(t, "holdfast: ClientOptions.Lease must be at least 100ms (got 1ms)\n", h.err.String())
}

// A job that keeps its lock for a time is not done again by a machine whose clock is behind (defect F18).
func TestARunKeepsTheLockForTheMinimumTime(t *testing.T) {
	t.Parallel()
	name := redistest.Key(t)
	first := prepare(t, addr(t), "run", "-n", "--min-hold", "1h", name, "true")
	assert.Zero(t, first.run(), first.err.String())
	second := prepare(t, addr(t), "run", "-n", "--min-hold", "1h", name, "true")
	assert.Equal(t, 75, second.run(), second.err.String())
}
