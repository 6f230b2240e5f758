// Package pglock is a reentrant distributed lock on PostgreSQL. A holder that loses its lock is told before another
// caller can have it, and a holder that could not be told cannot commit.
//
//	client, err := pglock.NewClient(pool, nil) // one per process; pool is a *pgxpool.Pool
//	defer client.Close()
//
//	l := client.Lock("order:1001")
//	err = l.Do(ctx, func(ctx context.Context) error {
//		tx, err := pool.Begin(ctx)
//		if err != nil {
//			return err
//		}
//		defer tx.Rollback(ctx)
//		if err := pglock.Tx(ctx, tx, l); err != nil { // from here on the lock is ours until the commit
//			return err
//		}
//		if err := charge(ctx, tx, order); err != nil {
//			return err
//		}
//		return tx.Commit(context.WithoutCancel(ctx)) // which the end of the hold must not interrupt
//	})
//
// The table of locks is made by [Migrate], or by a tool that executes [Migrations]. A lock is a *lock.Lock, as in
// package rlock, and the rules of packages lock and rlock hold for it. Packages multilock and leader work on it, too. A
// [Client] is a [lock.Provider], so a program can choose its store by configuration.
//
// # What is promised, and what is not
//
// At most one holder treats its hold as live at any time, provided that PostgreSQL keeps what it committed and that
// clocks run at nearly the same rate. A holder's context ends before others can have the lock: the validity of a hold
// counts from the sending of the last request that was confirmed.
//
// A process that is stopped cannot be told anything. [Tx] makes that harmless for what is written in the same database:
// the transaction of a stale holder fails. For all else there is the fencing token, Hold.Fence. It grows with every
// acquisition of a name, and is comparable with the tokens of package rlock.
//
// A server that forgets what it committed forgets locks: an asynchronous standby that is promoted, a backup that is
// restored, a crash with fsync = off. A client recognises another server by its timeline, and with
// a new connection by the cluster's identifier and by a log that went back. It then asks at once whether its holds are
// known there. With synchronous_standby_names, a grant counts only when the server's wait for such standbys is over;
// with [Options.MinReplicas], only when so many standbys have it on their disks.
//
// Across processes no order is promised. Leases run by the server's clock: if that is set ahead, they end early.
//
// # What it costs
//
// A free lock costs one round trip to lock, with a commit that waits for the disk, and one to unlock, with a commit
// that does not. The first Lock of a name costs one more, which makes its row. A nested Lock costs none. Inside a
// process, waiters queue, first in, first out. The lock passes among them without a request for some milliseconds, each
// turn with a token of its own; then the process releases it, so that other processes get it. A contended row has one
// new version for each run of turns, not for each turn. One statement renews hundreds of holds, every third of a lease.
//
// A notification wakes a waiter. Each process has one connection that listens, from its first waiter on, or the first
// hold that lasts for a second: Break tells the holder by a notification, too. The row says until when another process
// listens: the release of a lock that no process waits for sends nothing. A process that comes to wait tells the others
// once, so that those who take turns leave one to it. Behind a pooler in transaction mode notifications do not arrive.
// The client finds that out when it connects, logs it once, and its waiters poll every [Options.MaxPoll], or more often
// where holds are short. A waiter that others have passed over notes that in the row, and the next release leaves the
// lock to clients that hear nothing until it has polled. Waiters poll, too, while the server sends no notification,
// because its queue is full or a right is missing: what a notification announces is done without it.
//
// # Why it is safe
//
// A lock is a row with the id of the grant that has it, and the end of its lease. Each request is one transaction under
// READ COMMITTED; a row that is missing is made by a transaction before it.
//
// To take the lock is to lock the row FOR UPDATE, and only then to compare two times with clock_timestamp(): the end of
// the lease, and the time after which the request must do nothing. now() would be the beginning of the transaction. A
// WHERE that was true before a wait for the row would not be looked at again, unless the row has changed. A row that
// another transaction has locked counts as busy, so no acquisition queues for a row.
//
// A release locks the row before it compares the id, and leaves the row in the table. So the release of an id whose
// acquisition is still under way waits for that acquisition, and cannot overtake it. For the same reason a transaction
// of its own makes the row of a new name. Every request may arrive late or twice. An acquisition has an id that is
// never used again, and a time after which it does nothing; the id is released until that time has passed. One that
// finds its id in the row, because the answer to an earlier copy was lost, locks the row again: a commit of what was
// only read waits for no disk and no standby. The second request may come to a standby that has taken over while the
// old primary lives on. So it compares the id and the token too, and where they differ, the first one proved nothing.
//
// A renewal prolongs the lease of an id that stands, and never creates one. It skips rows that are locked, so that one
// row does not hold up the others, and tries these again. No statement waits longer for a lock than its client waits
// for the answer.
//
// What safety needs is there when Lock returns: a renewal or a release uses any connection of the Client, and needs no
// new one. Silence is held against the connection that brought it. Where the server was quick before, a request that is
// not answered within half of its time is sent once more by a new connection, and the connections are closed of which
// nothing has come since: so those that a balancer has silently forgotten cost no call.
//
// A waiter notes in the row that it listens. To look at the row and to note that are one step, under the row's lock. If
// the release comes before it, the waiter finds the lock free; if it comes after, the release finds the note, and its
// message is part of its transaction. If that cannot be sent, the release is sent again without.
//
// Before a connection takes something the first time, it proves that its server takes writes, and that the table is an
// ordinary, permanent one with its key and its types, of which this user sees all rows. A name without a row is an
// error and never busy. The first proof says which table, with its schema, and which role all later statements mean.
//
// [Tx] locks the row FOR KEY SHARE in the user's transaction, if the row has the hold's id. Renewals and the release
// change no key, so they pass that lock; FOR UPDATE does not. Each statement that gives the row to another holder locks
// it FOR UPDATE first, in the same transaction: PostgreSQL then counts the update as one of the key, and a transaction
// that reads as of an earlier time cannot lock the row any more. All turns of a run have one id. So a hold for which Tx
// was called passes to no other caller in memory: its unlock gives the row back, and the next turn takes it as another
// process would.
//
// A request that is given up sends no CancelRequest. If that hit a commit in its wait for a synchronous standby, the
// commit would become visible without the standby, and look like a success. Its connection is used for nothing else,
// and ends when the server has finished.
//
// # Servers
//
// PostgreSQL 14 and newer, directly or behind a pooler; the statements use nothing that a session keeps. A name that is
// not used any more stays in the table as a free row. If a program makes up names without end, delete free rows now and
// then, which is safe at any time:
//
//	DELETE FROM holdfast_lock WHERE until < now() - interval '1 day'
//
// Databases that only speak PostgreSQL's protocol (CockroachDB, YugabyteDB) lock rows in other ways, and are not
// supported. PostgreSQL on another storage (Aurora and its like) was not tried.
package pglock
