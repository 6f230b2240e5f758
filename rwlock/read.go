package rwlock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// reader is the protocol of the read side.
type reader struct{ *shape }

var (
	_ redisstore.Protocol = reader{}
)

func (r reader) Mode() string                { return readMode }
func (r reader) Excludes(held string) bool   { return held == writeMode }
func (r reader) Follows(ahead string) bool   { return ahead == writeMode }
func (r reader) Inherits(string) bool        { return false }
func (r reader) Renewer() redisstore.Renewer { return readRenewer{} }
func (r reader) Traits() *store.Traits       { return &readTraits }

// A read inside a write passes the queue.
var readTraits = store.Traits{
	Layout: store.ReadersWriter, Kind: string(lock.KindRead), Shares: true,
	Under: func(_, mode string) (bool, error) { return mode == writeMode, nil },
}

func (r reader) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	if ask.From != "" {
		return luacall.AdoptRead(r.base, luacall.AdoptArgs{
			Lock: r.key, From: ask.From, To: ask.ID, Lease: ask.Lease.Milliseconds(),
			NotAfter: ask.NotAfter, Stays: ask.Beside,
		}).Run(ctx, conn)
	}
	return luacall.AcquireRead(luacall.AcquireReadArgs{
		Lock: r.key, Hold: r.hold(ask.ID), Gate: r.gate, Token: r.token,
		ID: ask.ID, Under: ask.Under, Lease: ask.Lease.Milliseconds(), NotAfter: ask.NotAfter,
		FenceTTL: r.fenceTTL,
	}).Run(ctx, conn)
}

func (r reader) Inspect(ctx context.Context, conn luacall.Conn, sharded bool) (luacall.InspectReply, error) {
	return inspect(ctx, conn, r.shape, false, sharded)
}

// Release leaves the hold keys to their expiry where the slot is being moved: nobody looks at one whose
// field is gone, and no later hold has its id.
func (r reader) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	args := releaseArgs(r.shape, id, sharded, wantNow)
	alone := luacall.ReleaseRead(args)
	args.Other = r.hold(id)
	return luacall.ReleaseRead(args).OrElse(alone)
}

type readRenewer struct{}

func (readRenewer) Renew(locks, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	holds := make([]string, len(ids))
	for i, id := range ids {
		holds[i] = luacall.HoldKey(keys.Suffix(locks[i], ""), id, 1)
	}
	call := luacall.RenewRead(locks, holds, ids, ttls)
	if len(ids) == 1 {
		call.OrElse(renewApart(locks[0], holds[0], ids[0], ttls[0]))
	}
	return call
}

// renewApart renews hold key and lock by a script each. The hold key comes first: while it lives, and only
// then, the field counts.
func renewApart(lock, hold, id string, ttl int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.With(func(ctx context.Context, conn luacall.Conn) ([]luacall.RenewStatus, error) {
		status, err := luacall.ExtendRead(hold, "", ttl).Run(ctx, conn)
		if err != nil || status[0] != luacall.Renewed {
			return status, err
		}
		return luacall.ExtendRead(lock, id, ttl).Run(ctx, conn)
	})
}
