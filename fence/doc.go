// Package fence makes a write conditional on the newest fencing token, so that a holder that does not know yet that it
// lost its lock changes nothing.
//
//	guard, err := fence.NewSQL(fence.PostgreSQL, "fences") // guard.Schema() creates the table
//
//	hold, err := lock.Held(ctx)
//	err = guard.Tx(ctx, db, "account:17", hold.Fence, func(tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance - $1 WHERE id = 17", amount)
//		return err
//	})
//	if errors.Is(err, fence.ErrStale) { ... } // another holder has had the lock since; nothing was written
//
//	kept, err := fence.NewRedis(rdb, 0)
//	_, err = kept.Do(ctx, "report:17", hold.Fence, "SET", text)
//
// [SQL] keeps the newest token of each name in a table, and [Redis] that of each key next to it. Package fence needs no
// driver and no lock: any number that grows with every holder will do. Those of this module do, [lock.Hold.Fence].
//
// # Rules
//
//  1. Check first, then read, then write, in one transaction: a holder that reads before its token is known may read
//     what an older one is about to overwrite. [SQL.Tx] does it in this order.
//  2. Guard by the same name whatever the same lock protects, and every write to it. A write without a token is not
//     stopped.
//  3. Roll the transaction back when a check fails. Tx does.
//
// # What is promised, and what is not
//
// Of two holders of one name, whichever comes to the database first: once a token was seen by a transaction that was
// committed, no transaction with an older one is committed. A holder may write as often as it wants, by one token. A
// stale holder's whole transaction fails with a [StaleError], which matches [ErrStale].
//
// It does not make writes happen once: a transaction whose commit was not answered may have been committed. It knows
// nothing of what the stale holder did elsewhere: mails, other databases. And it does not replace the lock: without
// one, a later writer can be refused although its data is newer.
//
// Redis keeps a key's token for a week after its last write, if nothing else is said. A holder that was stopped for
// longer is not stopped then, and neither is anybody after Redis has lost its data.
//
// # What it costs
//
// SQL: one statement more in the transaction, two on MySQL, and a row for each name; transactions of one name follow
// one another, as their holders do. Redis: two commands more inside the one request, and a key for each key.
//
// # Why it is safe
//
// The check is a write of the row of its name: an upsert that raises the token, and changes nothing if a newer one
// stands there. The database locks the row until the transaction ends. So of two transactions of one name, the second
// waits for the first to be committed or rolled back, and then compares with what the first has left. On PostgreSQL at
// REPEATABLE READ and above, and on SQLite if both began by reading, it gets the database's own error instead, a
// serialization failure or "busy", and nothing is written.
//
// In Redis a script compares and writes in one step.
package fence
