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

// Store is what an Observer is told of these locks, as a label.
const Store lock.Store = "postgresql"

// Options adjust a [Client]. The zero value of each means its default.
type Options struct {
	// Lease is how long PostgreSQL keeps a hold that is not renewed, and so how long others wait after a process has
	// died. A hold is renewed every third of it. At least 100 ms; zero means 30 seconds. Clients that contend may have
	// different leases.
	Lease time.Duration

	// MaxPoll is how long a waiter relies on notifications before it asks again: behind a pooler that delivers none, it
	// is how often a waiter asks at least. Zero means a second.
	MaxPoll time.Duration

	// MaxWait limits how long Lock waits, for handles without an option of their own. Zero means no limit.
	MaxWait time.Duration

	// ReleaseTimeout limits how long unlock and Close wait for PostgreSQL. Zero means 5 seconds.
	ReleaseTimeout time.Duration

	// Table is the table of locks, with or without its schema; at most 63 bytes. [Migrate] makes it, or a tool that
	// executes [Migrations]. All clients that contend use the same table. Without a schema it is the table to which the
	// search_path leads at the first call; where sessions have different ones, name the schema. "" means
	// "holdfast_lock".
	Table string

	// MaxConns is how many connections the Client opens at most for the requests of its callers. A request that was
	// given up counts until the server has finished with it, so no call is sent while all are taken by such. Besides,
	// the Client opens up to two for renewals and, once a caller has to wait or has held a lock for a second, one that
	// listens; while requests are unanswered, one for releases and one to ask what the server still works on. Zero
	// means 4.
	MaxConns int

	// MinReplicas is how many standbys must have an acquisition, and every renewal, on their disks, as the server sees
	// it, whatever synchronous_standby_names says. If too few have it in time, the lock is taken back and the error, a
	// lock.ErrUnavailable, says so. With synchronous_standby_names alone, a grant counts when the standbys have it that
	// the server waits for by that setting: of ANY 1 (s1, s2) any one, and none if the setting is emptied meanwhile.
	//
	// Set it to the number of standbys that may be promoted; then none of them lacks a lock. The price is that no lock
	// can be taken or renewed while one of them is away. A lower number makes the loss of a lock in a failover less
	// likely, not impossible: the one that is promoted may be another than the one that had it. A program that only
	// receives the log (pg_receivewal) counts like a standby. The user needs the role pg_read_all_stats.
	MinReplicas int

	// Observer receives events, for metrics and traces. Nil costs nothing.
	Observer *lock.Observer

	// Logger receives what an operator should know, as rlock.ClientOptions.Logger does. Nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultTable = "holdfast_lock"
	defaultConns = 4
	mostConns    = 1000
	mostReplicas = 1000
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
	if (o.MinReplicas < 0 || o.MinReplicas > mostReplicas) && err == nil {
		err = &lock.ArgumentError{
			Name: "Options.MinReplicas", Value: o.MinReplicas, Problem: "must be between 0 and 1000",
		}
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
