// Package pglock is a reentrant distributed lock on PostgreSQL. It is not finished.
package pglock
