package pglock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A user who may only lock does not see which standbys are waited for. Check says so, and does not take it for none.
func TestCheckByAUserWithoutRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	server.Standby(t, true)
	migrate(t, server.URL())
	server.Run(t, "CREATE ROLE app LOGIN; GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO app")
	findings := func(user string) map[string]lock.Finding {
		url := "postgres://" + user + "@" + server.Addr() + "/postgres?sslmode=disable"
		all := make(map[string]lock.Finding)
		for _, f := range pglock.Check(within(t), client(t, pool(t, url), pglock.Options{})) {
			all[f.Name] = f
		}
		return all
	}
	seen := findings("postgres")["standbys"]
	require.Equal(t, lock.LevelOK, seen.Level, seen.Text)
	require.Contains(t, seen.Text, "1 of 1 standbys are waited for")

	unseen := findings("app")
	require.Equal(t, lock.LevelWarning, unseen["standbys"].Level, unseen["standbys"].Text)
	require.Contains(t, unseen["standbys"].Text, "members of pg_monitor see it")
	for _, name := range []string{"table", "version", "bloat", "trial"} {
		require.Equal(t, lock.LevelOK, unseen[name].Level, unseen[name].Text)
	}
}
