package pgstore

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// later is the history of a later version.
var later = append(slices.Clone(changes), change{
	sql: "DO $holdfast$ BEGIN PERFORM pg_advisory_xact_lock({{lock}}); " +
		"ALTER TABLE {{table}} ADD COLUMN IF NOT EXISTS place bigint NOT NULL DEFAULT 0; END $holdfast$;",
	columns: []column{{"place", "bigint", " NOT NULL DEFAULT 0"}},
})

// A table has had what its columns show. What it lacks is named by its number, and carried out once, by whoever comes
// first; others wait, and find nothing to do.
func TestATableThatIsBehind(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	was := r.columns(t)
	require.Empty(t, changes.behind("l", was))
	require.Equal(t, "is behind this version: it has no column place: call pglock.Migrate, or execute number 3 of "+
		"pglock.Migrations and those that follow", later.behind("l", was))
	failed := make(chan error)
	for range 8 {
		one := r.session(t)
		go func() { failed <- later.migrate(within(t), one, tableName) }()
	}
	for range 8 {
		require.NoError(t, await(t, failed))
	}
	is := r.columns(t)
	require.Empty(t, later.behind("l", is))
	require.Empty(t, changes.behind("l", is), "this version goes on")
	require.Equal(t, append(was, "place"), is)
	require.NoError(t, later.migrate(within(t), r.session(t), tableName))
	require.NoError(t, Migrate(within(t), r.session(t), tableName))
	for i, m := range later.migrations(tableName) {
		require.Equal(t, i+1, m.Number)
		r.run(t, m.SQL)
	}
}

// A client goes on with a table that lacks a column which it can do without, and uses that once it is there. (defect G21)
func TestATableWithoutReservations(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	r.run(t, "ALTER TABLE holdfast_lock DROP COLUMN polled")
	p := r.open(t, "c")
	p.hub.deafened()
	took := func(id string) {
		t.Helper()
		p.take("n", id)
		require.Equal(t, store.Done, p.release("n", id).Status)
		p.take("n", id+"0")
		require.NoError(t, p.ReleaseAll(within(t), []*store.Parting{{Proto: p.Lock("n"), ID: id + "0"}}))
	}
	took("c:1")
	require.False(t, p.place().sql.reserves)
	require.NoError(t, Migrate(within(t), r.session(t), tableName))
	took("c:2")
	p.conns.pool.reset() // its next connection looks again
	took("c:3")
	require.True(t, p.place().sql.reserves)
	r.run(t, "ALTER TABLE holdfast_lock DROP COLUMN polled")
	p.vouch.Store(nil) // the last proof was long ago
	p.conns.pool.reset()
	took("c:4")
	require.False(t, p.place().sql.reserves)
}

// A migration does not wait for a transaction that uses the table for so long that requests for locks queue up behind
// it: it leaves the queue, and comes again until that transaction is over.
func TestAMigrationWaitsForOthers(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	other := r.session(t)
	other.begin()
	other.exec("SELECT FROM " + string(tableName))
	one, migrates := r.session(t), r.session(t)
	failed := waits(t, r, func() error { return later.migrate(within(t), migrates, tableName) })
	for range 3 {
		one.exec("SET lock_timeout = '1min'; SELECT FROM " + string(tableName)) // as a request for a lock does
	}
	other.commit()
	require.NoError(t, await(t, failed))
}

// The text that quotes a statement is no part of a table's name.
func TestATableWhoseNameQuotes(t *testing.T) {
	t.Parallel()
	r := newRows(t)
	const odd Table = `$holdfast$ ; "x" $_holdfast$`
	require.NoError(t, Migrate(within(t), r.session(t), odd))
	require.Equal(t, "1", r.run(t, `SELECT count(*) FROM pg_class WHERE relname = '`+string(odd)+`'`))
}

// columns are those of the table, in their order.
func (r rows) columns(t *testing.T) (columns []string) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(within(t), r.session(t), func(tx pgx.Tx) (err error) {
		columns, err = columnsOf(within(t), tx, tableName)
		return err
	}))
	return columns
}

// A change that added no column would be carried out again each time, or never.
func TestEachChangeAddsAColumn(t *testing.T) {
	for i, c := range changes {
		require.NotEmpty(t, c.columns, i)
	}
}
