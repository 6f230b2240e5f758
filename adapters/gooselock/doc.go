// Package gooselock gives goose the locks of this module, so that each migration runs once, however many processes
// migrate a database when they start.
//
//	provider, err := goose.NewProvider(goose.DialectSQLite3, db, migrations,
//		goose.WithLocker(gooselock.New(rlock.New(client, "migrate:shop"))))
//	results, err := provider.Up(ctx)
//
// It works for every database that goose knows, also for those without locks of their own, and behind poolers of
// connections, where a lock of PostgreSQL's sessions can stay behind or be lost.
//
// # Rules
//
//  1. One name for each database: every process that migrates it takes the same one.
//  2. Where your own code calls Up, call it inside [lock.Lock.Do] instead, with a provider without a Locker. The
//     migrations then get the context of the hold, and stop when the lock is lost. A Locker is for the places where
//     other code calls goose, and only its options can be set.
//  3. [lock.MaxWait] limits how long a process waits for another one's migrations. Without it the context of Up
//     does.
//
// Rule 2 in code:
//
//	err := rlock.New(client, "migrate:shop").Do(ctx, func(ctx context.Context) error {
//		_, err := provider.Up(ctx)
//		return err
//	})
//
// # What is promised, and what is not
//
// One caller migrates at a time, with the promises and the limits of package rlock. The others wait, and then find
// nothing to do. Up, Down and whatever else changes the database take the lock. Status, HasPending and GetDBVersion
// do not, because goose does not ask for it there.
//
// When the lock is lost in the middle, goose goes on. The context of its migrations is the one that was given to Up,
// and a Locker can neither end it nor replace it. The loss is the error of Up, a *lock.LostError, together with the
// results of the migrations that were applied. Until Up returns, another process may begin with the same migrations. A
// migration that can be applied twice, because it only adds rows for instance, may then take effect twice. Rule 2 ends
// the migrations in time.
//
// goose returns an error of Unlock as the error of Up, together with the results. If it matches lock.ErrUnconfirmed,
// the migrations were applied under the lock, and the store has not confirmed the release.
//
// A Locker is no SessionLocker. That interface differs in the connection, which a lock of this module does not need,
// and goose refuses it for some migrations if the database has a single connection.
//
// # Why it is safe
//
// A Locker keeps the unlock function of its hold from Lock to Unlock. Several providers can share a Locker, also
// after a loss: the second provider's Lock then has the lock, but returns when the first one has called Unlock. So
// Unlock ends the hold of its caller, and of the providers of one Locker one migrates at a time, lost or not.
package gooselock
