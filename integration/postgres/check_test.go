package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// found are the findings of a check, by their names.
func found(t *testing.T, c *pglock.Client) map[string]lock.Finding {
	t.Helper()
	return findings(t, within(t), c)
}

func findings(t *testing.T, ctx context.Context, c *pglock.Client) map[string]lock.Finding {
	t.Helper()
	all := make(map[string]lock.Finding)
	for _, f := range pglock.Check(ctx, c) {
		require.NotContains(t, all, f.Name, "each is told once")
		require.NotEmpty(t, f.Text)
		all[f.Name] = f
	}
	return all
}

// says asserts a finding.
func says(t *testing.T, all map[string]lock.Finding, name string, level lock.Level, text string) {
	t.Helper()
	require.Contains(t, all, name)
	require.Equal(t, level, all[name].Level, all[name].Text)
	require.Contains(t, all[name].Text, text)
}

// A server on which nothing is wrong, and then one thing after the other is. (defect G22)
func TestCheck(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=on")
	migrate(t, server.URL())
	c := client(t, server.URL(), pglock.Options{})
	good := map[string]string{
		"connection": "the first answer took", "table": "is there", "version": "PostgreSQL",
		"durability": "on the disk", "standbys": "no standby follows", "bloat": "dead row versions",
		"ids": "the oldest transaction id", "transactions": "no transaction",
		"notifications": "at once", "trial": "was taken, looked at and released",
	}
	all := found(t, c)
	require.Len(t, all, len(good))
	for name, text := range good {
		says(t, all, name, lock.LevelOK, text)
	}

	t.Run("durability", func(t *testing.T) {
		server.Run(t, "ALTER SYSTEM SET full_page_writes = off; SELECT pg_reload_conf()")
		eventually(t, func() bool { return server.Run(t, "SHOW full_page_writes") == "off" }, "it is off")
		says(t, found(t, c), "durability", lock.LevelWarning, "full_page_writes is off")
		server.Run(t, "ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf()")
		says(t, found(t, client(t, database(t), pglock.Options{})), "durability", lock.LevelFailure, "fsync is off")
		server.Run(t, "ALTER SYSTEM RESET ALL; SELECT pg_reload_conf()")
	})

	t.Run("bloat", func(t *testing.T) {
		taken(t, c.Lock("hot"))
		server.Run(t, "BEGIN; INSERT INTO holdfast_lock (name) SELECT 'dead' || i "+
			"FROM generate_series(1, 20000) i; ROLLBACK; SELECT pg_stat_force_next_flush()")
		eventually(t, func() bool {
			return strings.Contains(found(t, c)["bloat"].Text, "look for transactions")
		}, "the dead row versions are told")
		says(t, found(t, c), "bloat", lock.LevelWarning, "dead row versions beside")
		server.Run(t, "VACUUM (FULL) holdfast_lock")
		eventually(t, func() bool { return found(t, c)["bloat"].Level == lock.LevelOK }, "they are gone")
	})

	t.Run("notifications", func(t *testing.T) {
		says(t, found(t, c), "notifications", lock.LevelOK, "0 % full")
		server.Run(t, "ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO usage_before; "+
			"CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS 'SELECT 0.3::float8'")
		says(t, found(t, c), "notifications", lock.LevelWarning, "30 % full")
		server.Run(t, "DROP FUNCTION pg_catalog.pg_notification_queue_usage(); "+
			"ALTER FUNCTION pg_catalog.usage_before() RENAME TO pg_notification_queue_usage")
	})

	t.Run("table", func(t *testing.T) {
		server.Run(t, "ALTER TABLE holdfast_lock SET UNLOGGED")
		all := found(t, c)
		says(t, all, "table", lock.LevelFailure, "UNLOGGED")
		require.NotContains(t, all, "trial", "no lock is taken in it")
		server.Run(t, "ALTER TABLE holdfast_lock SET LOGGED; ALTER TABLE holdfast_lock RENAME TO other")
		says(t, found(t, c), "table", lock.LevelFailure, "is gone")
		server.Run(t, "ALTER TABLE other RENAME TO holdfast_lock")
		says(t, found(t, c), "table", lock.LevelOK, "is there")
	})

	t.Run("trial", func(t *testing.T) {
		server.Run(t, "CREATE RULE none AS ON UPDATE TO holdfast_lock DO INSTEAD NOTHING")
		says(t, found(t, client(t, server.URL(), pglock.Options{Lease: time.Second})), "trial", lock.LevelFailure,
			"a trial lock failed")
		server.Run(t, "DROP RULE none ON holdfast_lock")
		says(t, found(t, c), "trial", lock.LevelOK, "was taken")
	})

	t.Run("connection", func(t *testing.T) {
		proxy := pgproxy.Start(t, server.Addr())
		far := client(t, proxy.To(server.URL()), pglock.Options{Lease: time.Second})
		proxy.Refuse(true)
		all := found(t, far)
		require.Len(t, all, 1)
		says(t, all, "connection", lock.LevelFailure, "PostgreSQL is unavailable")
		proxy.Refuse(false)
		says(t, found(t, far), "table", lock.LevelOK, "is there")
	})
}

// What Check says of standbys.
func TestCheckOfStandbys(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, false)
	c := client(t, r.primary.URL(), pglock.Options{Lease: 3 * time.Second})
	says(t, found(t, c), "standbys", lock.LevelWarning, "none is synchronous")

	all := found(t, client(t, r.standby.URL(), pglock.Options{}))
	says(t, all, "table", lock.LevelFailure, "target_session_attrs=read-write")
	require.NotContains(t, all, "trial")

	r.primary.Run(t, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf()")
	eventually(t, func() bool { return found(t, c)["standbys"].Level == lock.LevelOK }, "it is waited for")
	says(t, found(t, c), "standbys", lock.LevelOK, "1 of 1 standbys are waited for")

	const states = "SELECT string_agg(sync_state, '') FROM pg_stat_replication"
	r.primary.Run(t, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()")
	eventually(t, func() bool { return r.primary.Run(t, states) == "async" }, "nobody is waited for")
	hurried := func() map[string]lock.Finding { // the trial would wait for a minute
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return findings(t, ctx, c)
	}
	all = hurried()
	says(t, all, "standbys", lock.LevelWarning, "if none is, nothing can be committed")
	says(t, all, "trial", lock.LevelFailure, "a trial lock failed")
	r.standby.Crash()
	eventually(t, func() bool { return r.primary.Run(t, states) == "" }, "nobody follows")
	says(t, hurried(), "standbys", lock.LevelFailure, "no standby follows: nothing can be committed")
}

// What Check may not see it says.
func TestCheckByAUserWithFewRights(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=on")
	migrate(t, server.URL())
	server.Run(t, "CREATE ROLE locker LOGIN; GRANT SELECT, INSERT ON holdfast_lock TO locker")
	c := client(t, strings.Replace(server.URL(), "postgres@", "locker@", 1), pglock.Options{})
	says(t, found(t, c), "table", lock.LevelFailure, `GRANT UPDATE ON "public"."holdfast_lock" TO "locker"`)
	server.Run(t, "GRANT UPDATE ON holdfast_lock TO locker")
	all := found(t, c)
	for _, name := range []string{"connection", "table", "version", "durability", "bloat", "notifications", "trial"} {
		says(t, all, name, lock.LevelOK, "")
	}
	require.Contains(t, all["standbys"].Text, "may see", "which standbys follow is not for everybody")
}

// List goes on over pages, in the order of the names, while locks are taken and released.
func TestListIsPaged(t *testing.T) {
	t.Parallel()
	of := database(t)
	c := client(t, of, pglock.Options{})
	const n = 1200
	pgtest.Run(t, of, fmt.Sprintf("INSERT INTO holdfast_lock (name) SELECT 'order:' || to_char(i, 'FM0000') "+
		"FROM generate_series(0, %d) i; INSERT INTO holdfast_lock (name) VALUES ('a'), ('Z'), ('other_1'), ('otherX1'), "+
		"('ö'), ('percent%%')", n-1))
	held, unlock := take(t, c.Lock("order:0777"))
	var names []string
	for entry, err := range pglock.List(within(t), c, "order:%") {
		require.NoError(t, err)
		names = append(names, entry.Name)
		require.Equal(t, lock.KindLock, entry.Kind)
		require.Equal(t, entry.Name != "order:0777", entry.Free())
		if len(names)%100 == 0 {
			taken(t, c.Lock(entry.Name)) // what changes meanwhile does not stop it
		}
	}
	require.Len(t, names, n)
	require.IsIncreasing(t, names)

	list := func(pattern string) (all []string) {
		for entry, err := range pglock.List(within(t), c, pattern) {
			require.NoError(t, err)
			all = append(all, entry.Name)
		}
		return all
	}
	require.Len(t, list("%"), n+6)
	require.Equal(t, []string{"Z", "a"}, list("_")[:2], "byte by byte, whatever the locale")
	require.Equal(t, []string{"otherX1", "other_1"}, list("other_1"))
	require.Equal(t, []string{"other_1"}, list(`other\_1`))
	require.Equal(t, []string{"percent%"}, list(`percent\%`))
	require.Empty(t, list("nobody%"))

	for entry, err := range pglock.List(within(t), c, "order:0777") {
		require.NoError(t, err)
		require.Equal(t, 1, entry.Held)
		require.True(t, entry.Holders[0].Mine)
		require.Equal(t, fence(t, c.Lock("order:0777"), held), entry.Fence)
	}
	for range pglock.List(within(t), c, "order:%") {
		break // a reader who has seen enough may leave
	}
	require.NoError(t, unlock())
}

// A transaction that called Tx and stays open keeps its lock from others, whatever becomes of the hold. Check names its
// session, or what it was prepared as. (defect G22)
func TestCheckOfOpenTransactions(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "max_prepared_transactions=2")
	migrate(t, server.URL())
	c := client(t, server.URL(), pglock.Options{})
	l := c.Lock("a")
	held, unlock := take(t, l)
	conn, err := pgx.Connect(within(t), server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(within(t))
	require.NoError(t, err)
	require.NoError(t, pglock.Tx(held, tx, l))
	require.NoError(t, unlock())
	_, _, err = l.TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	named := func(text string) func() bool {
		return func() bool { return strings.Contains(found(t, c)["transactions"].Text, text) }
	}
	eventually(t, named(fmt.Sprintf("session %d (idle in transaction)", conn.PgConn().PID())), "the session is named")
	says(t, found(t, c), "transactions", lock.LevelWarning, "pg_terminate_backend")
	_, err = tx.Exec(within(t), "PREPARE TRANSACTION 'it''s'")
	require.NoError(t, err)
	eventually(t, named("ROLLBACK PREPARED 'it''s'"), "the prepared one is named")
	server.Run(t, "ROLLBACK PREPARED 'it''s'")
	says(t, found(t, c), "transactions", lock.LevelOK, "no transaction")
	taken(t, l)
}
