package main

import (
	"bufio"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// piped starts holdfast with its output into a pipe, on a server with so many locks that a table does not fit into it.
func piped(t *testing.T, args ...string) (*holdfast, *os.File) {
	t.Helper()
	server := redistest.Start(t)
	const fill = `for i = 1, 10000 do
	redis.call('HSET', 'crowd:' .. i, '8743c9c0-0795-4907-87fd-6c719a6b4586:1', '1')
	redis.call('PEXPIRE', 'crowd:' .. i, 3600000)
end
return 1`
	require.NoError(t, server.Client(t).Eval(t.Context(), fill, nil).Err())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	h := prepare(t, server.Addr(), args...)
	h.Stdout = w
	h.start()
	require.NoError(t, w.Close())
	t.Cleanup(func() { _ = r.Close() })
	return h, r
}

// `holdfast list | head -1` ends, and so does a watch whose reader goes away.
func TestLookingEndsWhenItsPipeIsClosed(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"list", "watch"} {
		h, r := piped(t, command)
		_, err := bufio.NewReader(r).ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, r.Close())
		h.wait()
		assert.Equal(t, syscall.SIGPIPE, h.ProcessState.Sys().(syscall.WaitStatus).Signal(), h.err.String())
		assert.Empty(t, h.err.String())
	}
}

// A watch whose reader does not read, such as a pager, ends by a signal.
func TestASignalEndsAWatchThatNobodyReads(t *testing.T) {
	t.Parallel()
	h, r := piped(t, "watch")
	redistest.Eventually(t, limit, func() bool {
		waiting, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
		return err == nil && waiting > 60_000
	}, "the pipe is full")
	require.NoError(t, h.Process.Signal(syscall.SIGTERM))
	assert.Zero(t, h.wait(), h.err.String())
}
