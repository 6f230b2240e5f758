// Package lock is what all locks of this module share, whatever store keeps them: the handle [Lock], what it reports,
// its options and its errors. It imports no database and no database client, so a program that locks in one store
// links no code of the others.
//
// A lock comes from the package that knows its store and its kind. Package rlock has the client for Redis and the
// reentrant lock. It repeats the names of this package, so that a program that locks in Redis imports only rlock. Its
// documentation explains how to use the locks and what they guarantee.
//
// The comments here say "the store" for the database that keeps the lock, and name Redis where a fact is its own.
// Errors and log lines name the store that the client is of.
package lock
