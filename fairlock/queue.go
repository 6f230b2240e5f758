package fairlock

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// queue is the protocol of the fair lock: the reentrant lock's hash, and a queue beside it.
type queue struct {
	name  string
	core  redisclient.Core
	keys  luacall.Fair
	times luacall.FairTimes
}

var (
	_ redisstore.Queuer = (*queue)(nil)
	_ redisstore.Server = (*queue)(nil)
)

func (q *queue) Name() string    { return q.name }
func (q *queue) Key() string     { return q.keys.Lock }
func (q *queue) Mode() string    { return fairMode }
func (q *queue) Channel() string { return q.keys.Client + q.core.ClientID }

// Queue is what a store that serves the lock by its rules needs to know.
func (q *queue) Queue() store.Queue {
	return store.Queue{Times: q.times, Client: q.keys.Client, Strangers: q.keys.Channel}
}

func (q *queue) Traits() *store.Traits { return &traits }

var traits = store.Traits{
	Kind: string(lock.KindFair), Passes: true, Queues: true, Marks: true, Counts: true, Notes: true, Under: under,
}

// fairMode tells a fair hold from a plain one of the same name, behind which Redis is asked.
const fairMode = "fair"

func (q *queue) Excludes(held string) bool { return held == fairMode }
func (q *queue) Follows(string) bool       { return true }
func (q *queue) Inherits(held string) bool { return held == fairMode }

// under refuses a context that carries a hold of the same key by another kind of lock: its owner would
// wait for itself.
func under(_, _ string) (bool, error) {
	return false, &rlock.ArgumentError{Name: "ctx", Problem: "must not carry a hold of this name by a lock " +
		"that is not fair: the call would wait for itself"}
}

func (q *queue) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	if ask.From != "" {
		return luacall.Adopt(luacall.AdoptArgs{
			Lock: q.keys.Lock, From: ask.From, To: ask.ID, Lease: ask.Lease.Milliseconds(), NotAfter: ask.NotAfter,
		}).Run(ctx, conn)
	}
	reply, err := luacall.FairAcquire(q.keys, q.times, luacall.FairArgs{
		ID: ask.ID, Lease: ask.Lease.Milliseconds(), NotAfter: ask.NotAfter, FenceTTL: q.core.FenceTTL,
		Ticket: ask.Ticket, Once: ask.Once, Sharded: q.core.Store.Sharded(),
	}).Run(ctx, conn)
	if reply.Foreign {
		reply.Also = q.keys.Channel
	}
	return reply.AcquireReply, err
}

// forget takes places out of the queue. One that stays is invited one day and does not come.
func (q *queue) forget(ctx context.Context, conn luacall.Conn, ids ...string) {
	args := []any{"zrem", q.keys.Queue}
	for _, id := range ids {
		args = append(args, id)
	}
	_ = conn.Process(ctx, redis.NewIntCmd(ctx, args...))
}

func (q *queue) Enqueue(
	ctx context.Context, conn luacall.Conn, asks []redisstore.Ask,
) (luacall.EnqueueReply, error) {
	places := make([]luacall.Place, len(asks))
	for i, ask := range asks {
		places[i] = luacall.Place{ID: ask.ID, Ticket: ask.Ticket}
	}
	return luacall.FairEnqueue(q.keys, q.times, asks[0].NotAfter, places).Run(ctx, conn)
}

func (q *queue) Levels(id string, from, to int64) *luacall.Call[int64] {
	return luacall.Levels(q.keys.Lock, id, from, to)
}

// Inspect looks at the hash alone where the slot is being moved.
func (q *queue) Inspect(
	ctx context.Context, conn luacall.Conn, sharded bool,
) (luacall.InspectReply, error) {
	return luacall.FairInspect(q.keys, q.times, sharded).
		OrElse(luacall.Inspect(q.keys.Lock, "", q.keys.Channel, sharded)).Run(ctx, conn)
}

// Release falls back to the release of the hash where the slot is being moved; the queue is asked for
// what is left there afterwards.
func (q *queue) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	return q.release(id, nil, sharded, wantNow)
}

func (q *queue) release(id string, served []string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	plain := luacall.Release(luacall.ReleaseArgs{
		Lock: q.keys.Lock, ID: id, Channel: q.keys.Channel, Sharded: sharded, WantNow: wantNow,
	})
	return luacall.FairRelease(q.keys, q.times, luacall.FairReleaseArgs{
		ID: id, Served: served, Sharded: sharded, WantNow: wantNow, Unsure: q.core.Cluster && !sharded,
	}).OrElse(luacall.With(func(ctx context.Context, conn luacall.Conn) (luacall.ReleaseReply, error) {
		q.forget(ctx, conn, append([]string{id}, served...)...)
		return plain.Run(ctx, conn)
	}))
}

func (q *queue) Renewer() redisstore.Renewer { return renewer{} }

// renewer renews holds that are fields of a hash.
type renewer struct{}

func (renewer) Renew(keys, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.Renew(keys, ids, ttls)
}

// NoteKey implements [redisstore.Noting].
func (q *queue) NoteKey() string { return keys.Own("note", q.Key()) }
