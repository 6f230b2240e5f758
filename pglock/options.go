package pglock

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock/internal/pgstore"
)

// Options adjust a [Client]. The zero value of each means its default.
type Options struct {
	// Lease is how long PostgreSQL keeps a hold that is not renewed, and so how long others wait after a process has
	// died. A hold is renewed every third of it. At least 100 ms; zero means 30 seconds. Clients that contend may have
	// different leases.
	Lease time.Duration

	// MaxPoll is how long a waiter relies on notifications before it asks again: behind a pooler that delivers none, it
	// is how often a waiter asks. Zero means a second.
	MaxPoll time.Duration

	// MaxWait limits how long Lock waits, for handles without an option of their own. Zero means no limit.
	MaxWait time.Duration

	// ReleaseTimeout limits how long unlock and Close wait for PostgreSQL. Zero means 5 seconds.
	ReleaseTimeout time.Duration

	// Table is the table of locks, with or without its schema; at most 63 bytes. [Migration] returns the statement that
	// makes it. All clients that contend use the same table. "" means "holdfast_lock".
	Table string

	// MaxConns is how many connections the Client opens at most for the requests of its callers. Besides, it opens up
	// to two for renewals and, once a caller has to wait, one that listens. Zero means 4.
	MaxConns int

	// Observer receives events, for metrics and traces. Nil costs nothing.
	Observer *lock.Observer

	// Logger receives what an operator should know, as rlock.ClientOptions.Logger does. Nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultTable = "holdfast_lock"
	defaultConns = 4
	mostConns    = 1000
)

// checked returns a checked copy with the defaults filled in, and the options that the clients of all stores have.
func (o Options) checked() (Options, client.Options, error) {
	general, err := client.Options{
		Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait, ReleaseTimeout: o.ReleaseTimeout, Observer: o.Observer,
		Logger: o.Logger,
	}.Checked()
	err = named(err)
	if o.Table == "" {
		o.Table = defaultTable
	}
	if problem := pgstore.Table(o.Table).Problem(); problem != "" && err == nil {
		err = &lock.ArgumentError{Name: "Options.Table", Value: o.Table, Problem: problem}
	}
	switch {
	case o.MaxConns == 0:
		o.MaxConns = defaultConns
	case (o.MaxConns < 0 || o.MaxConns > mostConns) && err == nil:
		err = &lock.ArgumentError{Name: "Options.MaxConns", Value: o.MaxConns, Problem: "must be between 1 and 1000"}
	}
	return o, general, err
}

// named is an error about an option that the clients of all stores have, with the name that it has here.
func named(err error) error {
	var bad *lock.ArgumentError
	if !errors.As(err, &bad) {
		return err
	}
	return &lock.ArgumentError{
		Name: "Options" + strings.TrimPrefix(bad.Name, "ClientOptions"), Value: bad.Value, Problem: bad.Problem,
	}
}

// Migration returns the statement that makes the table of locks, if it does not exist. Give it to the tool that
// migrates your database, or execute it once. "" means the table that [Options] has by default. The user of the Client
// needs SELECT, INSERT and UPDATE on the table, and USAGE on its schema.
//
// A name that [Options] would refuse is a *lock.ArgumentError.
func Migration(table string) (string, error) {
	o, _, err := Options{Table: table}.checked()
	if err != nil {
		return "", err
	}
	return pgstore.Schema(pgstore.Table(o.Table)), nil
}
