// Package pglock is a reentrant distributed lock on PostgreSQL that tells a holder in time when its hold is lost, and
// keeps a holder that was not told from committing.
//
//	client, err := pglock.NewClient(pool, nil) // one per process; pool is a *pgxpool.Pool
//	defer client.Close()
//
//	l := client.Lock("order:1001")
//	err = l.Do(ctx, func(ctx context.Context) error {
//		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
//			if err := pglock.Tx(ctx, tx, l); err != nil { // from here on the lock is ours until the commit
//				return err
//			}
//			return charge(ctx, tx, order)
//		})
//	})
//
// The table of locks is made once, by the statement that [Migration] returns. A lock is the *lock.Lock that package
// rlock has on Redis, with its rules: see packages lock and rlock. It works with packages multilock and leader too. A
// [Client] is a [lock.Provider], so a program can choose its store by configuration.
//
// # What is promised, and what is not
//
// At most one holder treats its hold as live at any time, provided that PostgreSQL keeps what it committed and clocks
// run at nearly the same rate. A holder's context ends before others can have the lock: its validity counts from the
// sending of the last request that was confirmed.
//
// A process that is stopped cannot be told anything. [Tx] makes that harmless for what is written in the same database:
// the transaction of a stale holder fails. For all else there is the fencing token, Hold.Fence, which grows with every
// acquisition of a name, and is comparable with those of package rlock.
//
// A server that forgets what it committed forgets locks: an asynchronous standby that is promoted, a backup that is
// restored, fsync = off. A client notices that another server answers, by its timeline, and asks at once whether its
// holds are known there. With synchronous_standby_names nothing is granted that such a standby has not on its disk.
//
// Across processes no order is promised. Leases run by the server's clock: if that is set ahead, they end early.
//
// # What it costs
//
// A free lock takes one round trip to lock, with a commit that waits for the disk, and one to unlock, with a commit
// that does not. The first Lock of a name takes one more, which makes its row. A nested Lock takes none. Inside a process waiters queue, first in, first out, and the lock passes
// among them without a request, each turn with a token of its own, for some milliseconds; then the process releases it
// so that others get it. So a hot row has one new version per run of turns instead of one per turn. Hundreds of holds
// are renewed by one statement, every third of a lease.
//
// A waiter is woken by a notification: a process whose callers wait has one connection that listens, and the row says
// until when somebody listens, so that a release of a lock which nobody waits for sends nothing. Behind a pooler in
// transaction mode notifications do not arrive. That is found out when the connection is made, is logged once, and
// waiters poll every [Options.MaxPoll].
//
// # Why it is safe
//
// A lock is a row with the id of the grant that has it, and the end of its lease. Each request is one transaction under
// READ COMMITTED; a row that is missing is made by a transaction before it.
//
// To take the lock is to lock the row FOR UPDATE, and then to compare: the lease, and the time until when the request
// may be carried out, with clock_timestamp(). (now() is the beginning of the transaction, and a WHERE that was true
// before a wait for the row is not looked at again if the row has not changed.) A row that somebody has locked is
// busy. So no acquisition queues for a row.
//
// A release locks the row before it compares the id, and the row stays when the lock is free. So the release of an id
// whose acquisition is still under way waits for that, and cannot pass it by. The row of a new name is made by a
// transaction of its own, for the same reason. Every request may arrive late or twice: an acquisition has an id that is
// never used again and a time after which it does nothing, and the id is released until that time has passed.
//
// A renewal prolongs the lease of an id that stands, and never creates one. Rows that are locked are skipped and tried
// again, so that one of them does not hold up the others; none of these statements waits longer for a lock than its
// client waits for the answer.
//
// A waiter says in the row that it listens, under the row's lock, and tries first: either the release comes before,
// and the waiter finds the lock free, or it comes after, and finds that somebody listens. The message is part of the
// release's transaction.
//
// [Tx] locks the row FOR KEY SHARE in the user's transaction, if the row has the hold's id. Renewals and the release
// change no key and pass that lock; FOR UPDATE does not. So each change of the id to that of another holder locks FOR
// UPDATE first, in the same transaction: PostgreSQL then counts the update as one of the key, and a transaction that
// reads as of an earlier time cannot lock the row any more. The turns of a process have one id, so a hold for which Tx
// was called passes to nobody in memory: its unlock gives the row back, and the next turn takes it over like any
// stranger.
//
// A request that is given up closes its connection, and sends no CancelRequest: while a commit waits for a synchronous
// standby, that would make it visible though the standby lacks it, and look like a success.
//
// # Servers
//
// PostgreSQL 14 and newer, directly or behind a pooler; the statements use nothing that a session keeps. Names that are
// not used any more stay in the table as free rows. If a program makes up names without end, delete old ones now and
// then, which is safe at any time:
//
//	DELETE FROM holdfast_lock WHERE until < now() - interval '1 day'
//
// Databases that speak PostgreSQL's protocol and are none (CockroachDB, YugabyteDB, Aurora's and other variants of its
// storage) lock rows differently, and were not tried.
package pglock
