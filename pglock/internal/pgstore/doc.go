// Package pgstore keeps locks in a table of PostgreSQL: it implements [store.Store] for package pglock, whose
// documentation argues why that is safe.
//
// A request is one transaction, which is sent in one batch (exchange.go), by a connection of the store's own
// (conns.go). Its statements are in the folder sql, a file each. A release in another process is heard by one
// connection that listens (listener.go), and passed on to those who wait here (hub.go). What an error says of its
// request is decided in fault.go.
package pgstore
