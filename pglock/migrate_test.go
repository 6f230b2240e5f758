package pglock_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/pglock"
)

// instances is how many programs start at once.
const instances = 20

// All instances of a program may migrate as they start, at once, whichever way. CREATE TABLE IF NOT EXISTS alone ends
// with 23505 for some of them. (defect G18)
func TestAllInstancesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	statements := tableOf(t, "")
	for name, migrate := range map[string]func(t *testing.T, conn *pgx.Conn) error{
		"Migrate": func(t *testing.T, conn *pgx.Conn) error { return pglock.Migrate(within(t), conn, "") },
		"a tool that executes Migrations": func(t *testing.T, conn *pgx.Conn) error {
			_, err := conn.Exec(within(t), statements)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := pgtest.Shared(t).Database(t)
			failed, start := make(chan error), make(chan struct{})
			for range instances {
				conn := session(t, of)
				go func() {
					<-start
					failed <- migrate(t, conn)
				}()
			}
			close(start)
			for range instances {
				require.NoError(t, await(t, failed, "each has migrated"))
			}
			taken(t, client(t, pool(t, of), pglock.Options{}).Lock("a"))
		})
	}
}

// A client goes on with a table to which a later version has added columns, and so does the migration of this one.
func TestATableWithLaterColumns(t *testing.T) {
	t.Parallel()
	of := database(t)
	a, b := client(t, pool(t, of), pglock.Options{}), client(t, pool(t, of), pglock.Options{})
	_, unlock := take(t, within(t), a.Lock("a"))
	psql(t, of, "ALTER TABLE holdfast_lock ADD COLUMN later int NOT NULL DEFAULT 7, ADD COLUMN latest text COLLATE \"C\"")
	require.NoError(t, unlock())
	taken(t, a.Lock("a"))
	taken(t, b.Lock("a")) // which has a look at the table only now
	taken(t, b.Lock("b"))
	require.NoError(t, pglock.Migrate(within(t), pool(t, of), ""))
	require.Equal(t, "7", psql(t, of, "SELECT later FROM holdfast_lock WHERE name = 'b'"))
}

// A user who may only use the table may ask for its migration: there is nothing to do. Another table it may not make.
func TestAUserWhoMayNotMigrate(t *testing.T) {
	t.Parallel()
	of := database(t)
	user, to := newRole(t, of, "")
	pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
	require.NoError(t, pglock.Migrate(within(t), pool(t, to), ""))
	require.NoError(t, pglock.Migrate(within(t), session(t, to), "public.holdfast_lock"))
	require.ErrorContains(t, pglock.Migrate(within(t), session(t, to), "other"), "permission denied")
}

// What a hand took away, no migration brings back: the error is that of the first call, with the statement that does.
func TestAColumnThatWasTakenAway(t *testing.T) {
	t.Parallel()
	of := database(t)
	psql(t, of, "ALTER TABLE holdfast_lock DROP COLUMN note_fence, DROP COLUMN wanted")
	err := pglock.Migrate(within(t), pool(t, of), "public.holdfast_lock")
	var schema *pglock.SchemaError
	require.True(t, errors.As(err, &schema), err)
	const mend = `ALTER TABLE "public"."holdfast_lock" ADD COLUMN wanted timestamp with time zone NOT NULL DEFAULT 'epoch', ` +
		`ADD COLUMN note_fence bigint NOT NULL DEFAULT 0`
	require.ErrorContains(t, err, mend)
	c := client(t, pool(t, of), pglock.Options{})
	_, _, err = c.Lock("a").TryLock(within(t))
	require.ErrorContains(t, err, mend)
	psql(t, of, mend)
	taken(t, c.Lock("a"))
}
