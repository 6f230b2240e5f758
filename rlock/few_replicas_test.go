package rlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Defect E3: from Redis 7 on a server that has fewer replicas than its min-replicas-to-write asks for grants no
// lock, and says why. Redis 6.2 looks at that setting before a command that writes, but not inside scripts, so
// there it grants; what counts on every server is ClientOptions.MinReplicas.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.ConfigSet(t.Context(), "min-replicas-to-write", "1").Err())
	client := conductClient(t, server.Addr(), nil)

	_, unlock, err := rlock.New(client, "l").TryLock(conductCtx(t))
	if major, _ := server.Version(); major < 7 {
		require.ErrorContains(t, rdb.Set(t.Context(), "k", "v", 0).Err(), "NOREPLICAS", "the setting is heeded elsewhere")
		require.NoError(t, err)
		require.NoError(t, unlock())
	} else {
		errorsOnly(t, err, rlock.ErrUnavailable)
		require.ErrorContains(t, err, "NOREPLICAS")
		require.ErrorContains(t, err, `"l"`)
	}

	require.NoError(t, rdb.ConfigSet(t.Context(), "min-replicas-to-write", "0").Err())
	_, _, err = rlock.New(conductClient(t, server.Addr(), &rlock.ClientOptions{MinReplicas: 1}), "m").TryLock(conductCtx(t))
	errorsOnly(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "0 of 1 replicas")
	redistest.Eventually(t, conductLimit, func() bool { return rdb.Exists(t.Context(), "m").Val() == 0 }, "it is taken back")
}
