package integration_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// Valkey 9.1 can unload its Lua engine. A check says that this server has no scripts, and that one with it has.
func TestCheckOfAServerWithoutItsLuaEngine(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.AtLeast(t, 9, 1), redistest.WithArgs("--enable-module-command", "local"))
	rdb := server.Client(t)
	client, _ := newClient(t, rdb, rlock.ClientOptions{Lease: replicated})
	scripts := func() lock.Finding {
		for _, f := range operate.Check(within(t), client, "") {
			if f.Name == "scripts" {
				return f
			}
		}
		return lock.Finding{Text: "nothing was said of scripts", Level: -1}
	}
	require.Equal(t, lock.LevelOK, scripts().Level, scripts())
	require.NoError(t, rdb.Do(t.Context(), "MODULE", "UNLOAD", "lua").Err())
	found := scripts()
	require.Equal(t, lock.LevelFailure, found.Level, found)
	require.Contains(t, found.Text, "Lua engine")
	_, _, err := rlock.New(client, "a").TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
}
