package pglock

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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
// Call Tx as the first statement: what the transaction read before may have been written by another holder since. The
// transaction must be of the Client's database, and its user needs SELECT and UPDATE on the table of locks.
//
// From Tx on, the transaction has the row of the lock locked (FOR KEY SHARE). Renewals and unlock pass that; other
// clients are told that the lock is busy until the transaction is over, also after unlock, MaxHold, Break or the end of
// the lease have ended the hold, and Export waits for it. The hold does not pass to another caller of this process
// without a request any more. So end the transaction soon; nobody is told of its end, and who waits asks again every 50
// ms. It may be committed after the hold has ended, too, under a context that has not: nobody else has had the lock
// before that. A process that stops in the middle of a transaction keeps the lock from others for as long as PostgreSQL
// keeps the transaction, whatever the lease is: set idle_in_transaction_session_timeout. A savepoint in which Tx was
// called, and that is rolled back, takes the row's lock with it.
//
// Roll back after any error. It is that of Held if ctx carries no live hold: lock.ErrNotHeld, or a *lock.LostError. If
// PostgreSQL says that the hold is gone, it is a *lock.LostError, and the context of the hold ends. It is a
// *lock.ArgumentError if the hold stands, and the transaction does not see it: that is of another database, or reads as
// of a time before the hold. Otherwise it is what PostgreSQL or the connection said, and the hold is what it was.
//
// Under REPEATABLE READ and SERIALIZABLE a transaction reads as of its first statement, so begin it after Lock. A
// renewal since does not matter to Tx. If another one has had the lock since, Tx returns PostgreSQL's error 40001.
// Retry the transaction as you do after any such error: Tx says then that the hold is lost.
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
	return parts.Engine.Pin(ctx, of, func(id string) (bool, error) {
		stands, err := of.Stands(ctx, tx, id)
		return stands, untold(l, err)
	})
}

// untold is the error of a transaction that does not tell whether a hold stands.
func untold(l *lock.Lock, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgstore.ErrUnseen):
		return &lock.ArgumentError{Name: "tx", Problem: fmt.Sprintf("does not see the hold of lock %q, which stands: "+
			"it must be of the Client's database and see its table, and begin after Lock if it is REPEATABLE READ or "+
			"SERIALIZABLE", l.Name())}
	}
	return fmt.Errorf("holdfast: whether the hold of lock %q stands cannot be told in this transaction, which must be "+
		"rolled back: %w", l.Name(), err)
}
