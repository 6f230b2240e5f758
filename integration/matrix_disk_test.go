package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A disk that takes no snapshot is one more refusal (need 21): a server that must save accepts no writes while it
// cannot. The tests of refusals run it as they run the others.
func init() {
	refusals["a disk that takes no snapshot"] = refusal{
		says: "MISCONF", inflict: refusalDisk,
		args: []string{"--save", "3600", "1000000", "--dbfilename", refusalSnapshot},
	}
}

const refusalSnapshot = "snapshot.rdb"

// refusalDisk makes the server try to save where a directory is in the way.
func refusalDisk(t *testing.T, server *redistest.Server, admin *redis.Client) func() {
	dir := filepath.Join(server.Dir(), refusalSnapshot)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "in the way"), 0o700))
	refusalSaves(t, server, admin, "err")
	return func() {
		require.NoError(t, os.RemoveAll(dir))
		refusalSaves(t, server, admin, "ok")
	}
}

// refusalSaves makes the server save until that ends as wanted.
func refusalSaves(t *testing.T, server *redistest.Server, admin *redis.Client, want string) {
	t.Helper()
	redistest.Eventually(t, limit, func() bool {
		_ = admin.BgSave(context.Background()).Err() // refused while another one is under way
		return server.Info(t, "persistence")["rdb_last_bgsave_status"] == want
	}, "saving does not end with "+want)
}
