//go:build unix && !aix

package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// A program with the guide's first sample and holdfast run exclude each other, and an operator who breaks what List
// tells breaks that very lock (defect F15).
func TestAProgramWithAPrefixAndTheCommandLineContend(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	prefix := redistest.Key(t) + ":lock:"
	client := waiter(t, &rlock.ClientOptions{Prefix: prefix})
	lock := rlock.New(client, "order:1")
	require.NoError(t, lock.Do(ctx, func(context.Context) error {
		byFlag := prepare(t, addr(t), "run", "-n", "--prefix", prefix, "order:1", "true")
		assert.Equal(t, 75, byFlag.run(), byFlag.err.String())
		byEnvironment := prepare(t, addr(t), "run", "-n", "order:1", "true")
		byEnvironment.Env = append(byEnvironment.Env, "HOLDFAST_PREFIX="+prefix)
		assert.Equal(t, 75, byEnvironment.run(), byEnvironment.err.String())
		return nil
	}))
	h := prepare(t, addr(t), "run", "--lease", "3s", "--prefix", prefix, "order:1", "--", "sh", "-c",
		`echo "$HOLDFAST_NAME"; echo $$ >>"$PIDS"; exec sleep 300`).start()
	h.awaitPids(1)
	_, _, err := lock.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy)
	broken := 0
	for entry, err := range operate.List(ctx, client, "*") {
		require.NoError(t, err)
		assert.Equal(t, "order:1", entry.Name)
		require.NoError(t, rlock.New(client, entry.Name).Break(ctx))
		broken++
	}
	assert.Equal(t, 1, broken)
	assert.Equal(t, 74, h.wait(), h.err.String())
	assert.Equal(t, "order:1\n", h.out.String())
}
