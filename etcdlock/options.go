package etcdlock

import (
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/etcdlock/internal/etcdstore"
	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/lock"
)

// Store is what an Observer is told of these locks, as a label.
const Store lock.Store = "etcd"

// Options adjust a [Client]. The zero value of each means its default.
type Options struct {
	// Lease is for how long etcd keeps what the Client holds if it is not renewed: the time after which others get the
	// locks of a process that died. It is one lease for all locks of the Client, renewed every third of that. Zero
	// means 30 seconds. It must be whole seconds, and 5 seconds at least: an election of etcd takes one or two, and
	// ends holds whose lease is shorter. Use 15 seconds or more where a frozen server must not end holds.
	Lease time.Duration

	// MaxPoll is how often a waiter asks again that heard of no release. Zero means a second.
	MaxPoll time.Duration

	// MaxWait limits how long Lock waits, for handles without an option of their own. Zero means no limit.
	MaxWait time.Duration

	// ReleaseTimeout limits how long unlock and Close wait for etcd. Zero means 5 seconds.
	ReleaseTimeout time.Duration

	// Prefix is the prefix of the few keys that are no lock's: the base of tokens and ids that were given up. All
	// clients of an etcd use the same one. Zero means "holdfast/".
	Prefix string

	// Observer receives events, for metrics and traces. Nil costs nothing.
	Observer *lock.Observer

	// Logger receives what an operator should know, as rlock.ClientOptions.Logger does. Nil means slog.Default().
	Logger *slog.Logger
}

const defaultPrefix = "holdfast/"

// checked returns a checked copy with the defaults filled in, and the options that the clients of all stores have.
func (o Options) checked() (Options, client.Options, error) {
	general, err := client.Options{
		Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait, ReleaseTimeout: o.ReleaseTimeout, Observer: o.Observer,
		Logger: o.Logger,
	}.Checked()
	err = named(err)
	if err == nil {
		err = etcdstore.BadLease("Options.Lease", general.Lease)
	}
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
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
