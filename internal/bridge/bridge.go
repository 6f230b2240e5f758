// Package bridge is how the other primitives come from an *rlock.Client to its engine, and from a protocol
// of theirs to an *rlock.Lock, without either being seen in the documentation of package rlock. Package
// rlock fills in the functions when it is initialised; since it imports this package, its types appear
// here as any, and whoever calls turns them back.
package bridge

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/links"
	"github.com/holdfast-go/holdfast/internal/redisstore"
)

// Core is what a primitive needs of a client.
type Core struct {
	Engine   *engine.Engine
	Store    Store
	ClientID string // what the ids of its holds begin with
	Lease    time.Duration
	MaxPoll  time.Duration
	FenceTTL int64 // ms for which an unused token is kept; negative: for ever
	Cluster  bool

	// RequestLife is how long, in ms, what a request took has to be remembered that was not answered, so that
	// whatever takes it back finds it.
	RequestLife int64

	// Key checks a name and makes the Redis key of it.
	Key func(name string) (string, error)
}

// Options are the options of a handle.
type Options struct{ Lease, MaxWait, MaxHold time.Duration }

// Set by package rlock.
var (
	// CoreOf opens an *rlock.Client. A nil or zero one is an *rlock.ArgumentError.
	CoreOf func(client any) (Core, error)

	// RequestOf makes a request of a []rlock.Option; its protocol is still to be set.
	RequestOf func(client, opts any) (engine.Request, error)

	// Lock makes an *rlock.Lock of a protocol. With anew it never re-enters. An error, and a bad option,
	// is told by every call.
	Lock func(client any, proto redisstore.Protocol, opts any, anew bool, err error) any

	// Open looks into an *rlock.Lock: its engine, and what its calls ask for under further options, of which
	// zero values change nothing. The error is what every call on it returns, or that the lock refuses one
	// of the options.
	Open func(lock any, with Options) (*engine.Engine, engine.Request, error)

	// Join makes one error of two, on one line; either may be nil.
	Join func(first, second error) error

	// OptionsOf is what a []rlock.Option asks for; zero is what it does not.
	OptionsOf func(opts any) (Options, error)

	// ClientOver makes an *rlock.Client of *rlock.ClientOptions, on other connections.
	ClientOver func(opts any, conns *links.Links) (any, error)

	// ClientOn makes an *rlock.Client of *rlock.ClientOptions on a store, which it will close.
	ClientOn func(opts any, st Store) (any, error)
)
