package rwlock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	readMode  = "read"
	writeMode = "write"
)

// writer is the protocol of the write side.
type writer struct{ *shape }

var (
	_ redisstore.Protocol = writer{}
)

func (w writer) Mode() string              { return writeMode }
func (w writer) Follows(string) bool       { return true }
func (w writer) Inherits(held string) bool { return held == writeMode }

// Excludes is not true of readers: behind one of its own process a writer asks as behind any other, and so shuts the
// gate to the readers of all processes.
func (w writer) Excludes(held string) bool { return held == writeMode }

func (w writer) Traits() *store.Traits { return &writeTraits }

// writeTraits say that an attempt that finds readers shuts the gate, which Release opens.
var writeTraits = store.Traits{
	Layout: store.ReadersWriter, Kind: string(lock.KindWrite), Passes: true, Marks: true, Under: upgrade,
}

// upgrade refuses to make a writer of a reader. A context that carries a write hold as well re-enters that and
// never asks.
func upgrade(name, mode string) (pass bool, err error) {
	if mode == readMode {
		return false, &upgradeError{name}
	}
	return false, nil
}

func (w writer) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	if ask.From != "" {
		return luacall.AdoptWrite(luacall.AdoptArgs{
			Lock: w.key, From: ask.From, To: ask.ID, Lease: ask.Lease.Milliseconds(), NotAfter: ask.NotAfter,
		}).Run(ctx, conn)
	}
	args := luacall.AcquireWriteArgs{
		AcquireArgs: luacall.AcquireArgs{
			Lock: w.key, Token: w.token, ID: ask.ID, Lease: ask.Lease.Milliseconds(),
			NotAfter: ask.NotAfter, FenceTTL: w.fenceTTL,
		},
		Gate: w.gate, Base: w.base, GateTTL: w.GateLife().Milliseconds(),
	}
	if ask.Once {
		args.GateTTL = 0
	}
	reply, err := luacall.AcquireWrite(args).Run(ctx, conn)
	if err == nil && reply.Dead != nil {
		args.Dead = reply.Dead
		reply, err = luacall.AcquireWrite(args).Run(ctx, conn)
	}
	// The gate stays shut for as long as this one comes back in time.
	reply.PTTL = min(reply.PTTL, w.GateLife()*2/5)
	return reply.AcquireReply, err
}

func (w writer) Inspect(ctx context.Context, conn luacall.Conn, sharded bool) (luacall.InspectReply, error) {
	return inspect(ctx, conn, w.shape, true, sharded)
}

// inspect looks at the hash alone where the slot is being moved.
func inspect(
	ctx context.Context, conn luacall.Conn, s *shape, write, sharded bool,
) (luacall.InspectReply, error) {
	args := luacall.InspectRWArgs{
		Lock: s.key, Token: s.token, Channel: s.channel, Base: s.base, Write: write, Sharded: sharded,
	}
	alone := args
	alone.Token = ""
	return luacall.InspectRW(args).OrElse(luacall.InspectRW(alone)).Run(ctx, conn)
}

func (w writer) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	args := releaseArgs(w.shape, id, sharded, wantNow)
	alone := luacall.ReleaseWrite(args)
	args.Other = w.gate
	return luacall.ReleaseWrite(args).OrElse(alone)
}

func releaseArgs(s *shape, id string, sharded, wantNow bool) luacall.ReleaseRWArgs {
	return luacall.ReleaseRWArgs{
		ReleaseArgs: luacall.ReleaseArgs{
			Lock: s.key, ID: id, Channel: s.channel, Sharded: sharded, WantNow: wantNow,
		},
		Base: s.base,
	}
}

func (w writer) Renewer() redisstore.Renewer { return writeRenewer{} }

type writeRenewer struct{}

func (writeRenewer) Renew(locks, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.RenewWrite(locks, ids, ttls)
}
