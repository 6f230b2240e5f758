package rlock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// plain is the protocol of the reentrant lock, in Redisson's layout: a hash at the name itself with one
// field per hold, a fencing token beside it, and a channel on which "0" says that it was released.
//
// It is constant, and shared by the handles of its name.
type plain struct {
	name, key, token, channel string
	fenceTTL                  int64 // ms; negative: the token never expires

	// The prepared scripts of an uncontended lock, made once.
	acquire *luacall.Acquirer
	release *luacall.Releaser
}

// prepare returns what handles of a name have in common. Beside the error of a bad name it returns the protocol, of
// which a handle asks its name.
func prepare(of *redisclient.Client, name string) (*client.Named, error) {
	core, err := of.Core()
	if err != nil {
		return nil, err
	}
	if n := of.Plain().Get(name); n != nil {
		return n, nil
	}
	p := &plain{name: name, fenceTTL: core.FenceTTL}
	if p.key, err = core.Key(name); err != nil {
		return &client.Named{Proto: core.Store.Bind(p)}, err
	}
	p.token, p.channel = keys.Token(p.key), keys.Channel(p.key)
	p.acquire = luacall.PrepareAcquire(luacall.AcquireArgs{
		Lock: p.key, Token: p.token, Lease: core.Lease.Milliseconds(), FenceTTL: p.fenceTTL,
	})
	p.release = luacall.PrepareRelease(luacall.ReleaseArgs{Lock: p.key, Channel: p.channel})
	n := &client.Named{Proto: core.Store.Bind(p)}
	if err := core.CheckSlot(p.key, p.token, p.channel); err != nil {
		return n, err
	}
	of.Plain().Put(name, n)
	return n, nil
}

func (p *plain) Name() string         { return p.name }
func (p *plain) Key() string          { return p.key }
func (p *plain) Mode() string         { return "" }
func (p *plain) Channel() string      { return p.channel }
func (p *plain) Excludes(string) bool { return true }
func (p *plain) Follows(string) bool  { return true }

// Inherits refuses holds of other primitives at the same key: a fair lock's hold belongs to its queue.
func (p *plain) Inherits(held string) bool { return held == p.Mode() }

func (p *plain) Traits() *store.Traits { return &plainTraits }

var plainTraits = store.Traits{
	Kind: string(lock.KindLock), Passes: true, Counts: true, InSets: true, MinHold: true, Notes: true, Keeps: true,
}

func (p *plain) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	switch {
	case ask.More:
		return luacall.Mint(luacall.MintArgs{
			Lock: p.key, Token: p.token, ID: ask.ID, NotAfter: ask.NotAfter, FenceTTL: p.fenceTTL,
		}).Run(ctx, conn)
	case ask.From != "":
		return luacall.Adopt(luacall.AdoptArgs{
			Lock: p.key, From: ask.From, To: ask.ID, Lease: ask.Lease.Milliseconds(), NotAfter: ask.NotAfter,
		}).Run(ctx, conn)
	}
	return p.acquire.Call(ask.ID, ask.Lease.Milliseconds(), ask.NotAfter).Run(ctx, conn)
}

// Scripts implements [redisstore.SetMember].
func (p *plain) Scripts() (*luacall.Acquirer, *luacall.Releaser) { return p.acquire, p.release }

func (p *plain) Levels(id string, from, to int64) *luacall.Call[int64] {
	return luacall.Levels(p.key, id, from, to)
}

// Inspect reads only the hash while the slot is being migrated.
func (p *plain) Inspect(
	ctx context.Context, conn luacall.Conn, sharded bool,
) (luacall.InspectReply, error) {
	reply, err := luacall.Inspect(p.key, p.token, p.channel, sharded).Run(ctx, conn)
	if redis.IsTryAgainError(err) {
		return luacall.Inspect(p.key, "", p.channel, sharded).Run(ctx, conn)
	}
	return reply, err
}

func (p *plain) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	return p.release.Call(id, sharded, wantNow)
}

// NoteKey implements [redisstore.Noting].
func (p *plain) NoteKey() string { return keys.Own("note", p.key) }

// Retaining implements [redisstore.Retaining].
func (p *plain) Retaining(until int64, most time.Duration, as string) redisstore.Protocol {
	return &retaining{p, until, most, as}
}

// retaining is the protocol of a hold that is released before its MinHold is over.
type retaining struct {
	*plain
	until int64
	most  time.Duration
	as    string
}

func (r *retaining) Release(id string, sharded, _ bool) *luacall.Call[luacall.ReleaseReply] {
	return luacall.Retain(luacall.RetainArgs{
		Lock: r.key, ID: id, As: r.as, Until: r.until, Most: r.most.Milliseconds(),
		Channel: r.channel, Sharded: sharded,
	})
}

func (p *plain) Renewer() redisstore.Renewer { return hashRenewer{} }

// hashRenewer renews holds that are fields of a hash.
type hashRenewer struct{}

func (hashRenewer) Renew(keys, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.Renew(keys, ids, ttls)
}
