package redlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// Redisson's prefixes of the names beside a lock's own, as package rlock has them.
const (
	channelPrefix = "redisson_lock__channel"
	tokenPrefix   = "redisson_lock_token"
)

// New returns a handle on the lock of that name over the client's nodes. It is cheap and sends nothing. A
// bad name or option is an *rlock.ArgumentError from every call on the handle; so is a FixedLease longer
// than the guard time, also where it is an option of package multilock.
//
// It is an *rlock.Lock in everything but this: a waiter is not woken, but tries again after random times
// that grow up to MaxPoll; a hold cannot be exported; and what Inspect and Break go by is what a quorum of
// the nodes says.
func New(client *Client, name string, opts ...rlock.Option) *rlock.Lock {
	if client == nil || client.locks == nil {
		err := &rlock.ArgumentError{Name: "client", Problem: "must come from redlock.NewClient"}
		return (*rlock.Lock)(handle.New(handle.Parts{Err: err}))
	}
	lock := &quorumLock{client: client, name: name}
	key, err := client.core.Key(name)
	lock.key = key
	lock.token, lock.channel = keys.Prefix(tokenPrefix, key), keys.Prefix(channelPrefix, key)
	return client.locks.Lock(lock, opts, err)
}

// quorumLock is the protocol of the lock: it has its own ways to the nodes, so the connection that the
// engine offers is none.
type quorumLock struct {
	client                    *Client
	name, key, token, channel string
}

func (l *quorumLock) Name() string         { return l.name }
func (l *quorumLock) Key() string          { return l.key }
func (l *quorumLock) Mode() string         { return "" }
func (l *quorumLock) Channel() string      { return "" }
func (l *quorumLock) Excludes(string) bool { return true }
func (l *quorumLock) Follows(string) bool  { return true }
func (l *quorumLock) Inherits(string) bool { return true }

func (l *quorumLock) Traits() *store.Traits { return &l.client.traits }

// checkLease is for [store.Traits]: what a server granted may be forgotten by a restart, and only for the
// guard time is that server without a vote. The client's own lease was checked with its options.
func (c *Client) checkLease(lease time.Duration) error {
	if lease > c.guard {
		return &rlock.ArgumentError{Name: "FixedLease", Value: lease, Problem: fmt.Sprintf(
			"must be at most the client's RestartGuard of %v (redlock.Options tells how to raise that)",
			c.guard)}
	}
	return nil
}

func (l *quorumLock) Renewer() redisstore.Renewer { return renewer{l.client} }

func (l *quorumLock) Acquire(
	ctx context.Context, _ lua.Conn, ask store.Ask,
) (lua.AcquireReply, error) {
	return l.client.acquire(ctx, l, ask)
}

func (l *quorumLock) Reenter(
	ctx context.Context, _ lua.Conn, s store.Step,
) (lua.StepReply, error) {
	return l.client.step(ctx, s.ID, s, false)
}

func (l *quorumLock) Leave(ctx context.Context, _ lua.Conn, s store.Step) (lua.StepReply, error) {
	return l.client.step(ctx, s.ID, s, true)
}

// Release ends a hold of this client, or one of anybody that an operator breaks.
func (l *quorumLock) Release(id string, _, _ bool) *lua.Call[lua.ReleaseReply] {
	c := l.client
	return lua.Func(func(ctx context.Context) (lua.ReleaseReply, error) {
		if h := c.find(id); h != nil {
			return c.free(ctx, h)
		}
		if strings.HasPrefix(id, c.core.ClientID+":") {
			// What this client knows nothing of is nowhere, or on its way out already.
			return lua.ReleaseReply{Status: lua.Gone, Now: virtual(c.clock.Now())}, nil
		}
		return c.releaseForeign(ctx, l, id)
	})
}

func (l *quorumLock) Inspect(ctx context.Context, _ lua.Conn, _ bool) (lua.InspectReply, error) {
	return l.client.inspect(ctx, l)
}

// errStays refuses an export: what a process knows of its hold's nodes cannot go into a token.
var errStays = &rlock.ArgumentError{Name: "lock", Problem: "stands on a quorum of nodes, and its holds cannot " +
	"be moved to another process"}
