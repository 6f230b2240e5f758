// Package redisclient is the inside of an *rlock.Client: an engine, its store in Redis, and what the primitives need
// of both. A *rlock.Client and a *[Client] convert to one another. Outside of this module nobody can name the latter,
// so nobody there reaches the engine, and it does not appear in the documentation of package rlock.
package redisclient

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
)

// Client is the inside of an rlock.Client. The zero Client is invalid.
type Client struct {
	core  Core
	plain Prepared

	owner   *owner // nil: nobody is told who the client is
	closing time.Duration
}

// Core is what a primitive needs of a client.
type Core struct {
	Engine   *engine.Engine
	Store    Store
	Conns    *links.Links // nil: the store is not Redis
	ClientID string       // the prefix of its holds' ids
	Lease    time.Duration
	MaxPoll  time.Duration
	MaxWait  time.Duration // 0: none
	FenceTTL int64         // ms for which an unused token is kept; negative: no expiry
	Cluster  bool

	MinReplicas int

	// RequestLife is how long, in ms, the effect of an unanswered request must be remembered, so that the request
	// that takes it back finds it.
	RequestLife int64

	Prefix string // of the keys of locks
}

// New makes a client of checked options, over connections that the client will close.
func New(o Options, conns *links.Links) (*Client, error) {
	st := redisstore.New(conns, o.MinReplicas)
	var tells *owner
	c, err := on(o, st, conns, func(client string) func(context.Context, []engine.Holder) {
		if tells = newOwner(&o, conns, client); tells == nil {
			return nil
		}
		st.OnUse(tells.used)
		return tells.tell
	})
	if err != nil {
		return nil, errors.Join(err, conns.Close())
	}
	c.core.Conns, c.owner, c.closing = conns, tells, o.ReleaseTimeout
	return c, nil
}

// On makes a client of checked options on a store that the client will close.
func On(o Options, st Store, cluster bool) (*Client, error) {
	c, err := on(o, st, links.Nowhere(), func(string) func(context.Context, []engine.Holder) { return nil })
	if err == nil {
		c.core.Cluster = cluster
	}
	return c, err
}

// on makes a client. Owners returns what tells who holders are, for a client with that id; nil: nobody does.
func on(
	o Options, st Store, conns *links.Links, owners func(client string) func(context.Context, []engine.Holder),
) (*Client, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, fmt.Errorf("rlock: cannot generate a client id: %w", err)
	}
	return &Client{core: Core{
		Engine: engine.New(engine.Config{
			Store:          st,
			ClientID:       id.String(),
			Lease:          o.Lease,
			MaxPoll:        o.MaxPoll,
			ReleaseTimeout: o.ReleaseTimeout,
			MinReplicas:    o.MinReplicas,
			Errors:         vocabulary.Errors,
			Events:         vocabulary.Events(o.Observer),
			Logger:         o.Logger,
			Server:         conns.Addr(),
			Owners:         owners(id.String()),
		}),
		Store: st, ClientID: id.String(), Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait,
		FenceTTL: o.fenceTTL(), MinReplicas: o.MinReplicas,
		Cluster: conns.Cluster(), RequestLife: o.requestLife(), Prefix: o.Prefix,
	}}, nil
}

// Core returns the client's core. A nil or zero client is a *lock.ArgumentError.
func (c *Client) Core() (Core, error) {
	if c == nil || c.core.Engine == nil {
		return Core{}, &lock.ArgumentError{Name: "client", Problem: "must come from NewClient"}
	}
	return c.core, nil
}

// Plain is what package rlock has prepared for names. The client is one that has a core.
func (c *Client) Plain() *Prepared { return &c.plain }

// Lock makes a lock of a protocol. Every call on it returns err or the error of a bad option, if any.
func (c *Client) Lock(proto redisstore.Protocol, opts []lock.Option, err error) *lock.Lock {
	return c.lock(proto, opts, err, false)
}

// LockAnew makes a lock like Lock, but one that never re-enters.
func (c *Client) LockAnew(proto redisstore.Protocol, opts []lock.Option, err error) *lock.Lock {
	return c.lock(proto, opts, err, true)
}

func (c *Client) lock(proto redisstore.Protocol, opts []lock.Option, err error, anew bool) *lock.Lock {
	if _, none := c.Core(); none != nil {
		return (*lock.Lock)(handle.New(handle.Parts{Err: none}))
	}
	req, bad := c.Request(opts)
	req.Proto, req.Anew = c.core.Store.Bind(proto), anew
	if bad == nil && req.MinHold > 0 && !proto.Traits().MinHold {
		bad = NoMinHold(req.MinHold)
	}
	return (*lock.Lock)(handle.New(handle.Parts{
		Engine: c.core.Engine, Request: req, MaxWait: c.core.MaxWait, Err: firstError(err, bad),
	}))
}

// Request returns a request with the options; the protocol must still be set.
func (c *Client) Request(opts []lock.Option) (engine.Request, error) {
	o := handle.Collect(opts)
	req := o.Over(engine.Request{Lease: c.core.Lease, Kept: true, MaxWait: c.core.MaxWait})
	return req, firstError(o.Err, checkTimes(o, req, c.core.Lease))
}

// Stats implements that of rlock.Client.
func (c *Client) Stats() lock.Stats {
	core, err := c.Core()
	if err != nil {
		return lock.Stats{}
	}
	return lock.Stats(core.Engine.Stats())
}

// Close implements that of rlock.Client.
func (c *Client) Close() error {
	c.owner.close(c.closing / 5)
	defer c.owner.join()
	held := c.core.Engine.Close()
	if len(held) == 0 {
		return nil
	}
	sort.Strings(held)
	const most = 10
	more := ""
	if len(held) > most {
		more = fmt.Sprintf(" and %d more", len(held)-most)
		held = held[:most]
	}
	return fmt.Errorf("rlock: closed with locks still held: %q%s", held, more)
}

const maxName = 1024 // bytes, of a key

// Key checks a name and returns its Redis key.
func (c *Core) Key(name string) (string, error) {
	key, problem := c.Prefix+name, ""
	switch {
	case name == "":
		return key, &lock.ArgumentError{Name: "name", Problem: "must not be empty"}
	case len(key) <= maxName:
		return key, nil
	case c.Prefix != "":
		problem = ", with ClientOptions.Prefix before it"
	}
	return key, &lock.ArgumentError{Name: "name", Value: fmt.Sprintf("%d", len(key)),
		Problem: fmt.Sprintf("must be at most %d bytes long%s", maxName, problem)}
}
