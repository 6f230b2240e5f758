package pglock

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

// Tx makes sure, within a transaction of the application, that the hold of l which ctx carries still stands, and that
// nobody else takes the lock before the transaction is over. What the transaction writes is then written under the
// lock, or not at all: a holder that was stopped for longer than its lease, and whose lock another has taken meanwhile,
// cannot commit.
//
//	err := l.Do(ctx, func(ctx context.Context) error {
//		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//			if err := pglock.Tx(ctx, tx, l); err != nil {
//				return err
//			}
//			_, err := tx.Exec(ctx, "UPDATE account SET balance = balance - 10 WHERE id = 1")
//			return err
//		})
//	})
//
// The transaction must be of the database that has the table of locks. Call Tx as its first statement: what the
// transaction read before may have been written by another holder since. From Tx on, the transaction has the row of the
// lock locked (FOR KEY SHARE). Renewals and unlock pass that; other clients are told that the lock is busy until the
// transaction is over, also after unlock, MaxHold or Break have ended the hold. So end it soon. The hold does not pass
// to another caller of this process without a request any more.
//
// The error is that of Held if ctx carries no live hold: lock.ErrNotHeld, or a *lock.LostError. If PostgreSQL says that
// the hold is gone, it is a *lock.LostError, and the context of the hold ends. Under REPEATABLE READ and SERIALIZABLE a
// lock that was taken over since the transaction's first statement is told by the error 40001 of PostgreSQL instead. In
// each case, roll back.
//
// Not excluded is what the transaction does elsewhere: messages that it sends, files, other databases.
func Tx(ctx context.Context, tx pgx.Tx, l *lock.Lock) error {
	switch {
	case ctx == nil:
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	case tx == nil:
		return &lock.ArgumentError{Name: "tx", Problem: "must not be nil"}
	case l == nil:
		return &lock.ArgumentError{Name: "lock", Problem: "must not be nil"}
	}
	parts := (*handle.Lock)(l).Parts()
	if parts.Err != nil {
		return parts.Err
	}
	if parts.Engine == nil {
		return &lock.ArgumentError{Name: "lock", Problem: handle.NoLock}
	}
	of, ok := parts.Request.Proto.(*pgstore.Lock)
	if !ok {
		return &lock.ArgumentError{Name: "lock", Problem: "must come from a Client of package pglock"}
	}
	err := parts.Engine.Pin(ctx, of, func(id string) (bool, error) { return of.Stands(ctx, tx, id) })
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return fmt.Errorf("holdfast: whether the hold of lock %q stands cannot be told in this transaction, which must be "+
			"rolled back: %w", l.Name(), err)
	}
	return err
}
