// Package lock is what all locks of this module have in common, whatever store keeps them: the handle [Lock], what it
// tells, its options and its errors. It imports no database and no client of one, so that a program with a lock on one
// store has nothing of the others.
//
// A lock comes from the package that knows its store and its kind. Package rlock has the client for Redis, and the
// reentrant lock; it has the names of this package as well, so that a program that locks in Redis imports rlock alone.
// Its documentation says how locks are used and what they guarantee.
//
// Where a comment here says Redis, it means the lock's store.
package lock
