// Package client is what the clients of all stores have in common: their options with defaults and checks, their
// identity, the handles that they make, the names that these have, and their end. It knows no database. The package of
// a store's own client embeds a [Client], and adds what the store alone has.
package client

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
)

// Client is a client of any store: an engine, and what the handles on it are made of. Its fields are constant, so
// copies of it are the same client. The zero Client has no engine.
type Client struct {
	Engine   *engine.Engine
	Kind     lock.Store
	ClientID string // the prefix of its holds' ids
	Lease    time.Duration
	MaxPoll  time.Duration
	MaxWait  time.Duration // 0: none

	// RequestLife is how long, in ms, the effect of an unanswered request must be remembered, so that the request
	// that takes it back finds it.
	RequestLife int64

	Prefix string // of the keys of locks
}

// Site is where a client is.
type Site struct {
	Kind     lock.Store  // for observers
	ClientID string      // a new one
	Store    store.Store // which the client will close
	Server   string      // what operators call the only node of the store; "" if it has several

	// Owners adds to holders, within ctx, what their clients say of themselves. Nil: they are not asked.
	Owners func(ctx context.Context, holders []engine.Holder)
}

// NewID returns the id of a client, which no other has.
func NewID() (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("holdfast: cannot generate a client id: %w", err)
	}
	return id.String(), nil
}

// New makes a client of checked options.
func New(o Options, at Site) Client {
	return Client{
		Engine: engine.New(engine.Config{
			Store:          at.Store,
			ClientID:       at.ClientID,
			Lease:          o.Lease,
			MaxPoll:        o.MaxPoll,
			ReleaseTimeout: o.ReleaseTimeout,
			MaxKept:        o.MaxKept,
			Confirmed:      o.MinReplicas > 0 || o.Fsync,
			Errors:         vocabulary.Errors(at.Store.Name()),
			Events:         vocabulary.Events(o.Observer, at.Kind),
			Logger:         o.Logger,
			Server:         at.Server,
			Owners:         at.Owners,
		}),
		Kind: at.Kind, ClientID: at.ClientID, Lease: o.Lease, MaxPoll: o.MaxPoll, MaxWait: o.MaxWait,
		RequestLife: o.requestLife(), Prefix: o.Prefix,
	}
}

// NotNew is the error of calls on a client that is nil or a zero value.
func NotNew() error { return &lock.ArgumentError{Name: "client", Problem: "must come from NewClient"} }

// Lock makes a lock of a protocol. With anew, no call on it re-enters a hold. Every call on it returns err, or the
// error of a bad option, if there is one.
func (c *Client) Lock(proto store.Protocol, opts []lock.Option, anew bool, err error) *lock.Lock {
	o := handle.Collect(opts)
	return (*lock.Lock)(c.handle(proto, &o, anew, err))
}

// LockOf is Lock for a name that was prepared.
func (c *Client) LockOf(name *Named, opts []lock.Option, err error) *lock.Lock {
	o := handle.Collect(opts)
	if m := name.made.Load(); m != nil && m.of == o {
		return m.lock
	}
	h := c.handle(name.Proto, &o, false, err)
	l := (*lock.Lock)(h)
	if h.Parts().Err == nil && name.made.Load() == nil { // looks first, so that no made is allocated in vain
		name.made.CompareAndSwap(nil, &made{o, l})
	}
	return l
}

// handle makes a handle of a protocol.
func (c *Client) handle(proto store.Protocol, o *handle.Options, anew bool, err error) *handle.Lock {
	parts := handle.Parts{Engine: c.Engine, MaxWait: c.MaxWait}
	req := &parts.Request
	bad := c.request(req, o)
	req.Proto = proto
	if anew && req.Reentry == engine.Enters {
		req.Reentry = engine.Anew
	}
	if bad == nil && req.MinHold > 0 && !proto.Traits().MinHold {
		bad = NoMinHold(req.MinHold)
	}
	if bad == nil && !proto.Traits().Keeps {
		bad = NoKeep(req)
	}
	parts.Err = firstError(err, bad)
	return handle.New(&parts)
}

// Request returns a request with the options; the protocol must still be set.
func (c *Client) Request(opts []lock.Option) (req engine.Request, err error) {
	o := handle.Collect(opts)
	err = c.request(&req, &o)
	return req, err
}

// request is Request for a request that is still empty.
func (c *Client) request(req *engine.Request, o *handle.Options) error {
	req.Lease, req.Renewed, req.MaxWait = c.Lease, true, c.MaxWait
	o.Apply(req)
	return firstError(o.Err, CheckTimes(o, req, c.Lease))
}

// Stats is what the client does at this moment; of the zero Client, nothing.
func (c *Client) Stats() lock.Stats {
	if c.Engine == nil {
		return lock.Stats{}
	}
	s := c.Engine.Stats()
	return lock.Stats{
		Store: c.Kind, Holds: s.Holds, Kept: s.Kept, Waiters: s.Waiters, LeastValidity: s.LeastValidity,
		RenewalsDue: s.RenewalsDue, ReleasesOwed: s.ReleasesOwed, Coalesced: s.Coalesced,
	}
}

// Close ends the client. Its error names the locks that were still held.
func (c *Client) Close() error {
	held := c.Engine.Close()
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
	return fmt.Errorf("holdfast: closed with locks still held: %q%s", held, more)
}

const maxName = 1024 // bytes, of a key

// Key checks a name and returns its key in the store.
func (c *Client) Key(name string) (string, error) {
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
