package gooselock_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/pressly/goose/v3"
	gooses "github.com/pressly/goose/v3/lock"
	"github.com/pressly/goose/v3/lock/locktesting"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/holdfast-go/holdfast/adapters/gooselock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

var migrations = fstest.MapFS{
	"00001_a.sql": {Data: []byte("-- +goose Up\nCREATE TABLE a (id INTEGER);\n")},
	"00002_b.sql": {Data: []byte("-- +goose Up\nCREATE TABLE b (id INTEGER);\n")},
	"00003_c.sql": {Data: []byte("-- +goose Up\nINSERT INTO a VALUES (1);\n")},
}

// database opens the database of a file, as each process does by itself.
func database(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// goose's own test of a locker: of five processes one applies all migrations, and the others none.
func TestEachMigrationRunsOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, client func() *rlock.Client, name string) {
		file := filepath.Join(t.TempDir(), "shop.db")
		locktesting.TestProviderLocking(t, func(t *testing.T) *goose.Provider {
			p, err := goose.NewProvider(goose.DialectSQLite3, database(t, file), migrations,
				goose.WithLocker(gooselock.New(rlock.New(client(), name))))
			require.NoError(t, err)
			return p
		})
	}
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		lab := holdfasttest.New(t)
		test(t, func() *rlock.Client { return lab.Client(nil) }, "migrate")
	})
	t.Run("on a server", func(t *testing.T) {
		t.Parallel()
		test(t, func() *rlock.Client {
			client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
			return client
		}, redistest.Key(t))
	})
}

// goose's other test: of five lockers that wait for a second, one gets the lock, which is held for two.
func TestAsGooseTestsLockers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		locktesting.TestConcurrentLocking(t, nil, func(*testing.T) gooses.Locker {
			return gooselock.New(rlock.New(lab.Client(nil), "migrate"))
		}, time.Second)
	})
}

// upWhileLosing migrates; in the middle of the one migration the lock is lost.
func upWhileLosing(
	t *testing.T, up func(ctx context.Context, l *rlock.Lock, p *goose.Provider) error, locked bool,
) (rows int, err error) {
	t.Helper()
	lab := holdfasttest.New(t)
	l := rlock.New(lab.Client(nil), "migrate")
	db := database(t, filepath.Join(t.TempDir(), "shop.db"))
	migration := goose.NewGoMigration(1, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE a (id INTEGER)")
		lab.Lose("migrate", rlock.LossGone)
		return err
	}}, nil)
	opts := []goose.ProviderOption{goose.WithGoMigrations(migration)}
	if locked {
		opts = append(opts, goose.WithLocker(gooselock.New(l)))
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, nil, opts...)
	require.NoError(t, err)
	err = up(t.Context(), l, p)
	require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name = 'a'").Scan(&rows))
	return rows, err
}

// What doc.go says of a loss: with a Locker the migration is applied, and Up returns the loss; inside Do it is not.
func TestALossInTheMiddle(t *testing.T) {
	t.Parallel()
	rows, err := upWhileLosing(t, func(ctx context.Context, _ *rlock.Lock, p *goose.Provider) error {
		results, err := p.Up(ctx)
		assert.Len(t, results, 1)
		return err
	}, true)
	require.ErrorIs(t, err, lock.ErrLost)
	require.Equal(t, 1, rows)

	rows, err = upWhileLosing(t, func(ctx context.Context, l *rlock.Lock, p *goose.Provider) error {
		return l.Do(ctx, func(ctx context.Context) error {
			_, err := p.Up(ctx)
			assert.Error(t, err)
			return err
		})
	}, false)
	require.ErrorIs(t, err, lock.ErrLost)
	require.Zero(t, rows, "rolled back")
}

// Providers of one process share a Locker. The Unlock of one that lost the lock does not end the hold of another.
func TestUnlockEndsTheHoldOfItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		l := gooselock.New(rlock.New(lab.Client(nil), "migrate"))
		ctx := t.Context()
		require.ErrorIs(t, l.Unlock(ctx, nil), lock.ErrNotHeld)
		require.NoError(t, l.Lock(ctx, nil))
		lab.Lose("migrate", rlock.LossGone)
		second := make(chan error, 1)
		go func() { second <- l.Lock(ctx, nil) }()
		synctest.Wait()
		require.Empty(t, second, "the first one still migrates")
		require.ErrorIs(t, l.Unlock(ctx, nil), lock.ErrLost)
		require.NoError(t, <-second)
		require.NoError(t, l.Unlock(ctx, nil))
		require.ErrorIs(t, l.Unlock(ctx, nil), lock.ErrNotHeld)

		require.NoError(t, l.Lock(ctx, nil))
		lab.Lose("migrate", rlock.LossGone)
		soon, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		require.ErrorIs(t, l.Lock(soon, nil), context.DeadlineExceeded)
		require.ErrorIs(t, l.Unlock(ctx, nil), lock.ErrLost)
	})
}

func TestMaxWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		l := gooselock.New(rlock.New(lab.Client(nil), "migrate", rlock.MaxWait(time.Minute)))
		defer lab.HoldElsewhere("migrate")()
		require.ErrorIs(t, l.Lock(t.Context(), nil), lock.ErrBusy)
	})
}
