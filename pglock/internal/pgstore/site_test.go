package pgstore

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

// A transaction that stands still is told, whether it has a snapshot or has written, and in whichever
// database (bug 58).
func TestWhatKeepsOldVersionsIsTold(t *testing.T) {
	t.Parallel()
	r := rows{url: pgtest.Start(t).URL(), sql: statementsOf(tableName.quoted(), true)}
	r.run(t, migrations(tableName)+"CREATE DATABASE other")
	other := rows{url: strings.Replace(r.url, "/postgres?", "/other?", 1), sql: r.sql}
	other.run(t, migrations(tableName))
	p := r.open(t, "c")
	for what, sql := range map[string]string{
		"a snapshot": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM holdfast_lock",
		"an insert":  "INSERT INTO holdfast_lock VALUES ('n')",
	} {
		for _, of := range []rows{r, other} {
			s := of.session(t)
			s.exec("BEGIN")
			for part := range strings.SplitSeq(sql, "; ") {
				s.exec(part)
			}
			pgtest.Eventually(t, func() bool {
				found, err := p.Server(within(t))
				require.NoError(t, err)
				return found.OldestSnapshot >= time.Second
			}, what)
			s.rollback()
		}
	}
}

// A connection that leads where another one was proved to lead a moment ago is not proved at length. It is where the
// table was changed meanwhile, another table has its name, the user has another role, or the proof is in doubt.
func TestAProofSpeaksForOtherConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, r rows, p *peer)
		again  bool
	}{
		"the same": {func(*testing.T, rows, *peer) {}, false},
		"another column": {func(t *testing.T, r rows, _ *peer) {
			r.run(t, "ALTER TABLE holdfast_lock ADD COLUMN place text")
		}, true},
		"other rights": {func(t *testing.T, r rows, _ *peer) { r.run(t, "GRANT SELECT ON holdfast_lock TO PUBLIC") }, true},
		"another table": {func(t *testing.T, r rows, _ *peer) {
			r.run(t, "ALTER TABLE holdfast_lock RENAME TO other")
			require.NoError(t, Migrate(within(t), r.session(t), tableName))
		}, true},
		"it is in doubt":  {func(_ *testing.T, _ rows, p *peer) { p.doubt() }, true},
		"it was long ago": {func(_ *testing.T, _ rows, p *peer) { p.vouch.Load().until = 0 }, true},
		"behind a pooler": {func(_ *testing.T, _ rows, p *peer) { p.conns.asker.pooled.Store(true) }, true},
		"one is lost": {func(t *testing.T, r rows, p *peer) {
			r.run(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
				"WHERE datname = current_database() AND pid <> pg_backend_pid()")
			_, _, err := p.Lock("n").Acquire(within(t), p.ask("c:9"))
			require.Error(t, err)
		}, true},
		"another timeline": {func(_ *testing.T, _ rows, p *peer) { p.vouch.Load().of.timeline = "0000002A" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRows(t)
			p := r.open(t, "c")
			p.take("n", "c:1")
			first := p.vouch.Load()
			require.Equal(t, store.Done, p.release("n", "c:1").Status)
			c.change(t, r, p)
			p.conns.pool.reset()
			p.take("n", "c:2")
			require.Equal(t, c.again, p.vouch.Load() != first)
		})
	}
}
