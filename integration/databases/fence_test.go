package databases

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
)

// guarded is a database with one account and a guard.
type guarded struct {
	db     *sql.DB
	guard  *fence.SQL
	update string
}

func guardOf(t *testing.T, db *sql.DB, dialect fence.Dialect) *guarded {
	t.Helper()
	guard, err := fence.NewSQL(dialect, "fences")
	require.NoError(t, err)
	for _, statement := range []string{
		guard.Schema(), guard.Schema(), // which may be there already
		"CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL)", "INSERT INTO account VALUES (1, 0)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	g := &guarded{db, guard, "UPDATE account SET balance = ? WHERE id = 1"}
	if dialect == fence.PostgreSQL {
		g.update = "UPDATE account SET balance = $1 WHERE id = 1"
	}
	return g
}

// write sets the balance to what tells its writer.
func (g *guarded) write(ctx context.Context, name string, token, balance int64) error {
	return g.guard.Tx(ctx, g.db, name, token, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, g.update, balance)
		return err
	})
}

func (g *guarded) balance(t *testing.T) (balance int64) {
	t.Helper()
	require.NoError(t, g.db.QueryRowContext(t.Context(), "SELECT balance FROM account").Scan(&balance))
	return balance
}

func TestFence(t *testing.T) {
	databases := map[string]func(t *testing.T) *guarded{
		"PostgreSQL": func(t *testing.T) *guarded {
			db, _ := postgres(t)
			return guardOf(t, db, fence.PostgreSQL)
		},
		"MariaDB": func(t *testing.T) *guarded { return guardOf(t, mariadb(t), fence.MySQL) },
	}
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			g := open(t)
			t.Run("a stale holder writes nothing", g.staleWritesNothing)
			t.Run("names are apart", g.namesAreApart)
			t.Run("what fails leaves nothing", g.failureLeavesNothing)
			t.Run("an older transaction waits for a newer one", g.oneAfterTheOther)
			t.Run("the newest wins", g.newestWins)
		})
	}
}

func (g *guarded) staleWritesNothing(t *testing.T) {
	const old, newer = int64(1_795_000_000_000_000), int64(1_795_000_000_000_001)
	require.NoError(t, g.write(t.Context(), "stale", old, 1))
	require.NoError(t, g.write(t.Context(), "stale", old, 2), "a holder may write more than once")
	require.NoError(t, g.write(t.Context(), "stale", newer, 3))
	err := g.write(t.Context(), "stale", old, 4)
	require.ErrorIs(t, err, fence.ErrStale)
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, fence.StaleError{Name: "stale", Token: old, Newest: newer}, *stale)
	require.Equal(t, int64(3), g.balance(t))
}

// Names differ by a letter's case, an accent or a space at the end, on MySQL too.
func (g *guarded) namesAreApart(t *testing.T) {
	for i, name := range []string{"name", "NAME", "náme", "name ", "n%", "naïve'; --"} {
		require.NoError(t, g.write(t.Context(), name, int64(100-i), int64(i)), "%q", name)
	}
	require.ErrorIs(t, g.write(t.Context(), "name", 99, 7), fence.ErrStale)
	require.NoError(t, g.write(t.Context(), "NAME", 99, 8))
}

func (g *guarded) failureLeavesNothing(t *testing.T) {
	failed := errors.New("failed")
	err := g.guard.Tx(t.Context(), g.db, "failure", 50, func(*sql.Tx) error { return failed })
	require.ErrorIs(t, err, failed)
	require.NoError(t, g.write(t.Context(), "failure", 49, 1))
}

// A transaction whose token was raised before the newest one came holds its row: the newer waits until it is over.
func (g *guarded) oneAfterTheOther(t *testing.T) {
	inside, on := make(chan struct{}), make(chan struct{})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		first <- g.guard.Tx(t.Context(), g.db, "order", 10, func(tx *sql.Tx) error {
			close(inside)
			<-on
			_, err := tx.ExecContext(t.Context(), g.update, 10)
			return err
		})
	}()
	<-inside
	go func() { second <- g.write(t.Context(), "order", 11, 11) }()
	close(on)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.Equal(t, int64(11), g.balance(t))
	require.ErrorIs(t, g.write(t.Context(), "order", 10, 12), fence.ErrStale)
}

// Many holders write in any order: the one with the newest token is the last whose write stands.
func (g *guarded) newestWins(t *testing.T) {
	var writing sync.WaitGroup
	for _, token := range rand.Perm(40) {
		writing.Go(func() {
			err := g.write(t.Context(), "newest", int64(token+1), int64(token+1))
			if err != nil && !errors.Is(err, fence.ErrStale) {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	require.Equal(t, int64(40), g.balance(t))
}
