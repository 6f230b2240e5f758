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
// no other caller takes the lock before the transaction is over. What the transaction writes is then written under the
// lock, or not at all. A holder that was stopped for longer than its lease, and whose lock another has taken meanwhile,
// cannot commit.
//
//	err := l.Do(ctx, func(ctx context.Context) error {
//		tx, err := pool.Begin(ctx)
//		if err != nil {
//			return err
//		}
//		defer tx.Rollback(ctx)
//		if err := pglock.Tx(ctx, tx, l); err != nil {
//			return err
//		}
//		if _, err := tx.Exec(ctx, "UPDATE account SET balance = balance - 10 WHERE id = 1"); err != nil {
//			return err
//		}
//		return tx.Commit(context.WithoutCancel(ctx))
//	})
//
// Call Tx as the first statement: what the transaction has read before, another holder may have overwritten since.
// The transaction must be of the Client's database, and its user needs SELECT and UPDATE on the table of locks.
//
// # Until the transaction is over
//
// Tx locks the row of the lock (FOR KEY SHARE), and the transaction keeps that lock to its end. Renewals and unlock
// pass it. Other clients find the lock busy until then, even if unlock, MaxHold, Break or the end of the lease has
// ended the hold, and Export waits. The hold passes to no other caller of this process without a request. So end the
// transaction soon: no client is told of its end, and waiters ask again every 50 ms. Inspect, List and Check name it
// while it is open, and Break, which cannot end it, returns a *lock.TransactionError.
//
// The transaction may be committed after the hold has ended: no other caller has had the lock before that. Commit under
// a context that does not end with the hold, as above. Under the hold's, pgx would close the connection in the middle
// of a commit when the hold is lost, and what was told as lost may stand. With it, Do returns a *lock.WorkError whose
// Err is nil if the transaction is committed, also where its Hold is a *lock.LostError: do not repeat that work. After
// an error of Commit itself, such as that of a broken connection, look whether it was carried out.
//
// A process that stops in the middle of a transaction keeps the lock from others for as long as PostgreSQL keeps the
// transaction, whatever the lease is: set idle_in_transaction_session_timeout. If a savepoint is rolled back in which
// Tx was called, the lock of the row goes with it.
//
// # Errors
//
// Roll back after any error.
//   - If ctx carries no live hold, it is the error of Held: lock.ErrNotHeld, or a *lock.LostError.
//   - If PostgreSQL says that the hold is gone, it is a *lock.LostError, and the context of the hold ends.
//   - If the hold stands, and the transaction does not see it, it is a *lock.ArgumentError: the transaction is of
//     another database, or reads as of a time before the hold.
//   - Otherwise it is what PostgreSQL or the connection said, and the hold is what it was.
//
// Under REPEATABLE READ and SERIALIZABLE a transaction reads as of its first statement, so begin it after Lock. A later
// renewal does not matter to Tx. If another caller has had the lock since, Tx returns PostgreSQL's error 40001. Retry
// the transaction as you do after any such error: Tx then says that the hold is lost.
//
// # What is not excluded
//
// What the transaction does elsewhere: messages that it sends, files, other databases.
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
