package pgtest_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestStartTakesSettings(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=on", "work_mem=7MB")
	require.Equal(t, "on|7MB|127.0.0.1", server.Run(t,
		"SELECT current_setting('fsync'), current_setting('work_mem'), host(inet_server_addr())"))
	require.Equal(t, "1\n2", server.Run(t, "CREATE TABLE t (n int); INSERT INTO t VALUES (2), (1); "+
		"VACUUM t; SELECT n FROM t ORDER BY n"), "one after the other, and what returns no rows says nothing")
}

// A server leaves nothing when its test ends, though it is killed then, or crashed before.
func TestAServerLeavesNoSharedMemory(t *testing.T) {
	t.Parallel()
	var left []string
	for _, end := range []string{"killed", "crashed"} {
		t.Run(end, func(t *testing.T) {
			server := pgtest.Start(t)
			lines := strings.Split(server.Run(t, "SELECT pg_read_file('postmaster.pid')"), "\n")
			require.Greater(t, len(lines), 6)
			segment := strings.Fields(lines[6])
			require.Len(t, segment, 2)
			require.Contains(t, segments(t), segment[1])
			left = append(left, segment[1])
			if end == "crashed" {
				server.Crash()
			}
		})
	}
	require.NotEmpty(t, left)
	for _, segment := range left {
		require.NotContains(t, segments(t), segment)
	}
}

// segments are the numbers of all segments of shared memory.
func segments(t *testing.T) []string {
	t.Helper()
	text, err := exec.Command("ipcs", "-m").Output()
	require.NoError(t, err)
	var all []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			all = append(all, fields[1])
		}
	}
	return all
}

func TestSharedIsOneServerWithADatabaseForEachTest(t *testing.T) {
	t.Parallel()
	require.Same(t, pgtest.Shared(t), pgtest.Shared(t))
	var database string
	t.Run("user", func(t *testing.T) {
		one, other := pgtest.Shared(t).Database(t), pgtest.Shared(t).Database(t)
		pgtest.Run(t, one, "CREATE TABLE t (n int)")
		pgtest.Run(t, other, "CREATE TABLE t (n int)")
		database = pgtest.Run(t, one, "SELECT current_database()")
		require.Panics(t, pgtest.Shared(t).Freeze)
	})
	count := "SELECT count(*) FROM pg_database WHERE datname = '" + database + "'"
	require.Equal(t, "0", pgtest.Shared(t).Run(t, count), "it ended with its test")
}

func TestFreezeStopsBackendsToo(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	server.Run(t, "CREATE TABLE t (at timestamptz)")
	// A backend that works, and for which nobody else is needed.
	busy := pgtest.Client(t, t.Context(), server.URL(), "DO $$ BEGIN LOOP "+
		"INSERT INTO t VALUES (clock_timestamp()); COMMIT; PERFORM pg_sleep(0.001); END LOOP; END $$")
	require.NoError(t, busy.Start())
	t.Cleanup(func() { _ = busy.Wait() }) // the end of the test's context has killed it
	const written = "SELECT count(*) FROM t"
	pgtest.Eventually(t, func() bool { return server.Run(t, written) != "0" }, "the backend works")

	server.Freeze()
	frozen := time.Now()
	probe, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err, "the kernel still accepts connections")
	require.NoError(t, probe.Close())
	for time.Since(frozen) < 300*time.Millisecond { // as long as a backend that runs would write hundreds of rows
		time.Sleep(10 * time.Millisecond)
	}
	thawing := time.Now()
	server.Thaw()
	pgtest.Eventually(t, func() bool {
		return server.Run(t, "SELECT count(*) FROM t WHERE at > '"+stamp(thawing)+"'") != "0"
	}, "the backend works again")
	require.Equal(t, "0", server.Run(t, "SELECT count(*) FROM t WHERE at > '"+stamp(frozen)+"' AND at < '"+
		stamp(thawing)+"'"))
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.999999Z") }

func TestCrashAndRestart(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	server.Run(t, "CREATE TABLE kept (n int); CREATE UNLOGGED TABLE emptied (n int); "+
		"INSERT INTO kept VALUES (1); INSERT INTO emptied VALUES (1)")
	state := func() string {
		return server.Run(t, "SELECT (SELECT count(*) FROM kept), (SELECT count(*) FROM emptied)")
	}
	addr := server.Addr()
	server.Shutdown()
	server.Restart()
	require.Equal(t, "1|1", state(), "an orderly end loses nothing")
	server.Freeze() // one that does not run goes as well
	server.Crash()
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
	server.Restart()
	require.Equal(t, addr, server.Addr())
	require.Equal(t, "1|0", state(), "a crash empties an unlogged table")
}

func TestStandbyFollowsAndIsPromoted(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t, false)
	const timeline = "SELECT timeline_id FROM pg_control_checkpoint()"
	old := primary.Run(t, timeline)
	primary.Run(t, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)")
	pgtest.Eventually(t, func() bool {
		return standby.Run(t, "SELECT count(*) FROM pg_tables WHERE tablename = 't'") == "1" &&
			standby.Run(t, "SELECT n FROM t") == "1"
	}, "the standby has the row")
	standby.Freeze()
	primary.Run(t, "INSERT INTO t VALUES (2)") // nobody waits for the standby
	standby.Thaw()
	primary.Crash()
	standby.Promote(t)
	standby.Run(t, "INSERT INTO t VALUES (3); CHECKPOINT")
	require.NotEqual(t, old, standby.Run(t, timeline))
}

func TestSynchronousStandbyHasEveryCommit(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t, true)
	primary.Run(t, "CREATE TABLE t (n int)")

	standby.Freeze()
	insert := pgtest.Client(t, t.Context(), primary.URL(), "INSERT INTO t VALUES (1)")
	require.NoError(t, insert.Start())
	pgtest.Eventually(t, func() bool {
		return primary.Run(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
	}, "the commit waits")
	standby.Thaw()
	require.NoError(t, insert.Wait())
	primary.Crash()
	standby.Promote(t)
	require.Equal(t, "1", standby.Run(t, "SELECT n FROM t"))
}

func TestBouncerPools(t *testing.T) {
	t.Parallel()
	database := pgtest.Shared(t).Database(t)
	for _, mode := range []string{"session", "transaction", "statement"} {
		bouncer := pgtest.StartBouncer(t, pgtest.Shared(t), mode, "default_pool_size=1")
		require.Equal(t, pgtest.Run(t, database, "SELECT current_database()"),
			pgtest.Run(t, bouncer.To(database), "SELECT current_database()"))
		config := strings.Replace(bouncer.URL(), "/postgres?", "/pgbouncer?", 1)
		require.Contains(t, pgtest.Run(t, config, "SHOW CONFIG"), "\npool_mode|"+mode+"|")
		one := pgtest.Run(t, bouncer.URL(), "SELECT pg_backend_pid()")
		require.Equal(t, one, pgtest.Run(t, bouncer.URL(), "SELECT pg_backend_pid()"), "clients share a connection")
	}
}

func TestServerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var dir, addr string
	t.Run("user", func(t *testing.T) {
		server := pgtest.Start(t)
		dir, addr = server.Run(t, "SHOW data_directory"), server.Addr()
		server.Freeze() // a frozen server has to go as well
	})
	require.NoDirExists(t, dir)
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
}
