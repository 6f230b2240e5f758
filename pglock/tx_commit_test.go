package pglock_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// slowCommits has each commit that writes into the journal wait for an advisory lock, which the test has until it
// calls the function that is returned.
func (a arena) slowCommits(t testing.TB) (goOn func()) {
	pgtest.Run(t, a.own, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock(33); RETURN NULL; END';
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON journal DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION slow()`)
	stop := a.begin(t, pgx.TxOptions{})
	_, err := stop.Exec(within(t), "SELECT pg_advisory_xact_lock(33)")
	require.NoError(t, err)
	return func() { require.NoError(t, stop.Rollback(within(t))) }
}

// A commit that goes on when the hold has ended is told as one: the work returns nil, and the error of Do says that it
// ran and that its hold was lost, so that nobody repeats what stands (defect G33).
func TestACommitDuringALossIsTold(t *testing.T) {
	t.Parallel()
	a := ways["directly"](t)
	goOn := a.slowCommits(t)
	l := a.client(t).Lock("n")
	committing := make(chan context.Context, 1)
	done := make(chan error, 1)
	conn := session(t, a.url)
	go func() {
		done <- l.Do(within(t), func(ctx context.Context) error {
			tx, err := conn.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback(ctx) }()
			if err := pglock.Tx(ctx, tx, l); err != nil {
				return err
			}
			if err := write(ctx, tx, "it"); err != nil {
				return err
			}
			committing <- ctx
			return tx.Commit(context.WithoutCancel(ctx))
		})
	}()
	held := await(t, committing, "the commit")
	var open *lock.TransactionError
	require.ErrorAs(t, a.client(t).Lock("n").Break(within(t)), &open, "the hold ends, and the transaction does not")
	require.ErrorIs(t, ended(t, held), lock.ErrLost)
	busy(t, a.client(t).Client, "n")
	goOn()
	err := await(t, done, "the work")
	var work *lock.WorkError
	require.True(t, errors.As(err, &work), "%v", err)
	require.NoError(t, work.Err, "the transaction is committed")
	require.ErrorIs(t, work.Hold, lock.ErrLost)
	a.wrote(t, "it")
}

// None of the pages and examples commits under the context of the hold (defect G33): its end would close the connection
// in the middle of a commit, which may then stand or not.
func TestNoExampleCommitsUnderTheHold(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"tx.go", "doc.go", "example_test.go", "../docs/guide.md", "../examples/fencing/txlock/main.go",
	} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(text), "pgx.BeginFunc(ctx", name)
		require.Contains(t, string(text), "tx.Commit(context.WithoutCancel(ctx))", name)
	}
}
