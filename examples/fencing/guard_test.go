package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
)

func testStore(t *testing.T) *store {
	s, err := openStore(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.close()) })
	require.NoError(t, s.open(t.Context(), "a", 10))
	return s
}

func balanceOf(t *testing.T, s *store) (balance int64) {
	require.NoError(t, s.db.QueryRowContext(t.Context(), `SELECT balance FROM account`).Scan(&balance))
	return balance
}

// A stale holder's transaction fails as a whole, and says which token was seen.
func TestAStaleTransactionWritesNothing(t *testing.T) {
	s := testStore(t)
	require.NoError(t, s.write(t.Context(), "a", 11, 20))
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `UPDATE account SET balance = 99`)
	require.NoError(t, err)
	err = s.guard.Check(t.Context(), tx, "a", 19)
	var stale *fence.StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, fence.StaleError{Name: "a", Token: 19, Newest: 20}, *stale)
	require.NoError(t, tx.Rollback())
	require.Equal(t, int64(11), balanceOf(t, s))

	called := false
	err = s.guard.Tx(t.Context(), s.db, "a", 19, func(*sql.Tx) error { called = true; return nil })
	require.ErrorIs(t, err, fence.ErrStale)
	require.False(t, called)
	require.NoError(t, s.guard.Tx(t.Context(), s.db, "another", 1, func(*sql.Tx) error { return nil }))
}

// A transaction that fails raises no token.
func TestATransactionThatFailsLeavesNothing(t *testing.T) {
	s, failed := testStore(t), errors.New("failed")
	err := s.guard.Tx(t.Context(), s.db, "a", 50, func(*sql.Tx) error { return failed })
	require.ErrorIs(t, err, failed)
	require.Panics(t, func() {
		_ = s.guard.Tx(t.Context(), s.db, "a", 51, func(*sql.Tx) error { panic("fn") })
	})
	require.NoError(t, s.write(t.Context(), "a", 12, 20))
}

// Many holders write in any order: the one with the newest token is the last whose write stands.
func TestTheNewestTokenWins(t *testing.T) {
	s := testStore(t)
	var writing sync.WaitGroup
	for token := int64(1); token <= 40; token++ {
		writing.Go(func() {
			if err := s.write(context.Background(), "a", token, token); err != nil && !errors.Is(err, fence.ErrStale) {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	require.Equal(t, int64(40), balanceOf(t, s))
}
