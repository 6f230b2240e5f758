// Package redisclient is the inside of an *rlock.Client: a client of package client whose store is Redis, and what the
// primitives need of both. A *rlock.Client and a *[Client] convert to one another. Outside of this module nobody can
// name the latter, so nobody there reaches the engine, and it does not appear in the documentation of package rlock.
package redisclient

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/lock"
)

// Client is the inside of an rlock.Client. The zero Client is invalid.
type Client struct {
	core  Core
	plain client.Prepared

	owner   *owner // nil: nobody is told who the client is
	closing time.Duration
}

// Core is what a primitive needs of a client.
type Core struct {
	client.Client
	Store    Store
	Conns    *links.Links // nil: the store is not Redis
	FenceTTL int64        // ms for which an unused token is kept; negative: no expiry
	Cluster  bool

	Confirm redisstore.Confirmation // of what is written
}

// CheckSlot returns the error of a key on a cluster where what is derived from it lies in another slot, so that no
// script could use both.
func (c *Core) CheckSlot(key string, derived ...string) error {
	if !c.Cluster || keys.SameSlot(key, derived...) {
		return nil
	}
	return &lock.ArgumentError{Name: "name", Value: fmt.Sprintf("%q", key), Problem: "must have balanced braces or " +
		"none on a cluster, so that what is derived from it falls into one slot"}
}

// Kind is what observers are told of the store. What imitates Redis is told as Redis, too.
const Kind lock.Store = "redis"

// New makes a client of checked options, over connections that the client will close.
func New(o Options, conns *links.Links) (*Client, error) {
	id, err := client.NewID()
	if err != nil {
		return nil, errors.Join(err, conns.Close())
	}
	confirm := redisstore.Confirmation{Replicas: o.MinReplicas, Fsync: o.Fsync}
	st := redisstore.New(conns, confirm)
	at := client.Site{Kind: Kind, ClientID: id, Store: st, Server: conns.Addr()}
	tells := newOwner(&o, conns, id)
	if tells != nil {
		st.OnUse(tells.used)
		at.Owners = tells.tell
	}
	return &Client{owner: tells, closing: o.ReleaseTimeout, core: Core{
		Client: client.New(o.general(), at), Store: st, Conns: conns,
		FenceTTL: o.fenceTTL(), Cluster: conns.Cluster(), Confirm: confirm,
	}}, nil
}

// On makes a client of checked options on a store that the client will close.
func On(o Options, st Store, cluster bool) (*Client, error) {
	id, err := client.NewID()
	if err != nil {
		return nil, err
	}
	return &Client{core: Core{
		Client: client.New(o.general(), client.Site{Kind: Kind, ClientID: id, Store: st}),
		Store:  st, FenceTTL: o.fenceTTL(), Cluster: cluster,
	}}, nil
}

// Core returns the client's core. A nil or zero client is a *lock.ArgumentError.
func (c *Client) Core() (Core, error) {
	if c == nil || c.core.Engine == nil {
		return Core{}, client.NotNew()
	}
	return c.core, nil
}

// Plain is what package rlock has prepared for names. The client must have a core.
func (c *Client) Plain() *client.Prepared { return &c.plain }

// Lock makes a lock of a protocol. Every call on it returns err or the error of a bad option, if any.
func (c *Client) Lock(proto redisstore.Protocol, opts []lock.Option, err error) *lock.Lock {
	return c.lock(proto, opts, err, false)
}

// LockOf is Lock for a name that was prepared.
func (c *Client) LockOf(name *client.Named, opts []lock.Option, err error) *lock.Lock {
	core, none := c.Core()
	if none != nil {
		return (*lock.Lock)(handle.New(&handle.Parts{Err: none}))
	}
	return core.LockOf(name, opts, err)
}

// LockAnew makes a lock like Lock, but one that never re-enters.
func (c *Client) LockAnew(proto redisstore.Protocol, opts []lock.Option, err error) *lock.Lock {
	return c.lock(proto, opts, err, true)
}

func (c *Client) lock(proto redisstore.Protocol, opts []lock.Option, err error, anew bool) *lock.Lock {
	core, none := c.Core()
	if none != nil {
		return (*lock.Lock)(handle.New(&handle.Parts{Err: none}))
	}
	return core.Lock(core.Store.Bind(proto), opts, anew, err)
}

// Request returns a request with the options; the protocol must still be set. The client must have
// a core.
func (c *Client) Request(opts []lock.Option) (engine.Request, error) { return c.core.Request(opts) }

// Stats implements that of rlock.Client.
func (c *Client) Stats() lock.Stats {
	if c == nil {
		return lock.Stats{}
	}
	return c.core.Stats()
}

// Close implements that of rlock.Client.
func (c *Client) Close() error {
	if _, err := c.Core(); err != nil {
		return err
	}
	c.owner.close(c.closing / 5)
	defer c.owner.join()
	return c.core.Close()
}
