package redlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// New returns a handle on the lock of that name over the client's nodes. It is cheap and sends nothing. With an
// invalid name or option every call on the handle returns an *rlock.ArgumentError. So does a FixedLease longer than
// the guard time, even one given to package multilock.
//
// It is like the *rlock.Lock of package rlock except that a hold cannot be exported, and that Inspect and Break rely on
// what a quorum of the nodes says.
func New(client *Client, name string, opts ...rlock.Option) *rlock.Lock {
	if err := client.check(); err != nil {
		return (*rlock.Lock)(handle.New(&handle.Parts{Err: err}))
	}
	l := &quorumLock{client: client, name: name}
	key, err := client.core.Key(name)
	l.key = key
	l.token, l.channel = keys.Token(key), keys.Channel(key)
	return client.locks.Lock(l, opts, err)
}

// Lock is [New]: a Client is a [lock.Provider].
func (c *Client) Lock(name string, opts ...rlock.Option) *rlock.Lock { return New(c, name, opts...) }

var _ lock.Provider = (*Client)(nil)

// quorumLock is the protocol of the lock. It reaches the nodes itself and ignores the connection that the engine
// offers.
type quorumLock struct {
	client                    *Client
	name, key, token, channel string
}

func (l *quorumLock) Name() string         { return l.name }
func (l *quorumLock) Key() string          { return l.key }
func (l *quorumLock) Mode() string         { return "" }
func (l *quorumLock) Excludes(string) bool { return true }
func (l *quorumLock) Follows(string) bool  { return true }
func (l *quorumLock) Inherits(string) bool { return true }

// Channel is where a release is published, at every node that can be listened to.
func (l *quorumLock) Channel() string {
	if l.client.listens() {
		return l.channel
	}
	return ""
}

func (l *quorumLock) Traits() *store.Traits { return &l.client.traits }

// checkLease is for [store.Traits]. A restarted server may have forgotten what it granted, and has no vote only for
// the guard time. The client's own lease was checked with its options.
func (c *Client) checkLease(option string, lease time.Duration) error {
	if lease > c.guard {
		return &rlock.ArgumentError{Name: option, Value: lease, Problem: fmt.Sprintf(
			"must be at most the client's RestartGuard of %v (redlock.Options tells how to raise that)",
			c.guard)}
	}
	return nil
}

func (l *quorumLock) Renewer() redisstore.Renewer { return renewer{l.client} }

func (l *quorumLock) Acquire(
	ctx context.Context, _ luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	return l.client.acquire(ctx, l, ask)
}

// Release ends a hold of this client, or any hold that an operator breaks.
func (l *quorumLock) Release(id string, _, _ bool) *luacall.Call[luacall.ReleaseReply] {
	c := l.client
	return luacall.Func(func(ctx context.Context) (luacall.ReleaseReply, error) {
		if h := c.holds.find(id); h != nil {
			return c.free(ctx, h)
		}
		if strings.HasPrefix(id, c.core.ClientID+":") {
			// A hold that this client does not know is nowhere, or already being released.
			gone := store.ReleaseReply{Status: store.Gone}
			return luacall.ReleaseReply{ReleaseReply: gone, Now: virtual(c.clock.Now())}, nil
		}
		return c.releaseForeign(ctx, l, id)
	})
}

func (l *quorumLock) Inspect(ctx context.Context, _ luacall.Conn, _ bool) (luacall.InspectReply, error) {
	return l.client.inspect(ctx, l)
}

// errStays refuses an export: a token cannot carry what a process knows of its hold's nodes.
var errStays = &rlock.ArgumentError{Name: "lock", Problem: "must not be one of package redlock: a hold over several " +
	"nodes cannot move to another process"}
