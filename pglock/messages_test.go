package pglock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// fullQueue replaces pg_notify in a database by one that fails with the commit, as it does while the queue is full.
const fullQueue = `
ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO pg_notify_before;
CREATE TABLE messages (channel text, message text);
CREATE FUNCTION fills() RETURNS trigger LANGUAGE plpgsql AS
	$$ BEGIN RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000'; END $$;
CREATE CONSTRAINT TRIGGER fills AFTER INSERT ON messages DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION fills();
CREATE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE sql SECURITY DEFINER AS
	'INSERT INTO public.messages VALUES ($1, $2)';`

// A message that cannot be sent undoes nothing of what it announces: releases go on, waiters poll, and Check and the log
// name the cause. (defect G15)
func TestMessagesThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spoil, says string }{
		"full queue": {fullQueue, "queue of notifications is full"},
		"no right": {
			"REVOKE EXECUTE ON FUNCTION pg_catalog.pg_notify(text, text) FROM PUBLIC", "GRANT EXECUTE ON FUNCTION",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := database(t)
			user, to := newRole(t, of, "")
			pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
			var said textlog.Log
			opts := pglock.Options{MaxPoll: 50 * time.Millisecond, Logger: said.Logger()}
			a, b := client(t, pool(t, to), opts), client(t, pool(t, to), opts)
			_, unlock := take(t, within(t), forLong(a, "heard"))
			got := waiter(t, b.Lock("heard"))
			listens(t, of, "heard")
			pgtest.Run(t, of, c.spoil)
			require.NoError(t, unlock())
			require.NoError(t, await(t, got, "a poll"))
			require.Contains(t, said.String(), "PostgreSQL sends no notifications")

			_, unlock = take(t, within(t), forLong(a, "announced")) // for which b has not waited yet
			got = waiter(t, b.Lock("announced"))
			listens(t, of, "announced")
			require.NoError(t, unlock())
			require.NoError(t, await(t, got, "a poll"))
			require.NotContains(t, said.String(), "unconfirmed")

			found := finding(t, b, "notifications")
			require.Equal(t, lock.LevelWarning, found.Level)
			require.Contains(t, found.Text, c.says)
			require.LessOrEqual(t, strings.Count(said.String(), "PostgreSQL sends no notifications"), 2, "one of each client")
		})
	}
}

// The commit of another program's notification waits for a standby, and all others wait for it: no unlock does, but for
// a moment. (defect G15)
func TestASlowMessageOfAnother(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	migrate(t, server.URL())
	of := server.URL()
	opts := pglock.Options{MaxPoll: 50 * time.Millisecond}
	a, b := client(t, pool(t, of), opts), client(t, pool(t, of), opts)
	_, unlock := take(t, within(t), forLong(a, "a"))
	got := waiter(t, b.Lock("a"))
	listens(t, of, "a")

	server.Run(t, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'; SELECT pg_reload_conf()")
	slow := pgtest.Client(t, within(t), of, "BEGIN; CREATE TABLE work (n int); NOTIFY something; COMMIT")
	require.NoError(t, slow.Start())
	const commits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'psql'"
	eventually(t, func() bool { return server.Run(t, commits) == "1" }, "the commit waits for a standby")
	require.NoError(t, unlock())
	require.Equal(t, "1", server.Run(t, commits), "it waits still")
	server.Run(t, "ALTER SYSTEM RESET synchronous_standby_names; SELECT pg_reload_conf()")
	require.NoError(t, slow.Wait())
	require.NoError(t, await(t, got, "a poll"))
}
