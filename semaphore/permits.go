package semaphore

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// permits is the protocol of permits with a lease, in the layout of Redisson's RPermitExpirableSemaphore: the number
// of free ones at the name itself, a sorted set of the taken ones beside it, and a channel on which the number is
// published.
type permits struct {
	holdless
	handle
	count   int64 // 0: a hold of which only the id is known
	patient bool  // see WaitForCapacity
	traits  store.Traits
	keys    luacall.Permits // but for Sharded, which can change
}

func (p *permits) Name() string    { return p.name }
func (p *permits) Key() string     { return p.key }
func (p *permits) Mode() string    { return "permit" }
func (p *permits) Channel() string { return p.keys.Channel }

// Inherits is true of permits: released ones pass to the first waiter, if it waits for as many. If it waits for
// another number, they become free, and so do all that are released until it is served: no waiter behind it is served
// before it.
func (p *permits) Inherits(held string) bool { return held == p.Mode() }

func (p *permits) Traits() *store.Traits { return &p.traits }

func (p *permits) at(sharded bool) luacall.Permits {
	at := p.keys
	at.Sharded = sharded
	return at
}

func (p *permits) Acquire(
	ctx context.Context, conn luacall.Conn, ask *redisstore.Ask,
) (luacall.AcquireReply, error) {
	hold := luacall.PermitHold{ID: ask.ID, Count: p.count}
	reply, err := luacall.PermitAcquire(
		p.at(p.core.Store.Sharded()), hold, ask.Lease.Milliseconds(), ask.NotAfter).Run(ctx, conn)
	if most, refused := luacall.Capacity(err); refused {
		if p.patient {
			reply.AcquireReply = store.AcquireReply{Status: store.Busy, PTTL: unknownTime, Why: p.Short(most)}
			return reply, nil
		}
		err = &store.Refused{Err: p.TooMany(most, ask.Waited)}
	}
	if reply.Status == luacall.Busy && reply.Fence == luacall.NoCapacity {
		reply.Fence, reply.Why = 0, p.Unset()
	}
	return reply, err
}

// TooMany is the error of a request that cannot be served with that capacity. It is an argument error only if the
// request was already too large when the call was made.
func (p *permits) TooMany(capacity int64, waited bool) error {
	if waited {
		return &CapacityError{Name: p.name, N: p.count, Capacity: capacity}
	}
	return &rlock.ArgumentError{
		Name: "n", Value: p.count, Problem: fmt.Sprintf("must be at most the capacity, %d", capacity),
	}
}

// unknownTime is how long a refusal lasts of which nothing is known: a message tells its end.
const unknownTime = time.Hour

// Patient reports that the caller waits while the capacity is too small.
func (p *permits) Patient() bool { return p.patient }

// Short is why a patient caller is refused.
func (p *permits) Short(capacity int64) error {
	return &shortError{CapacityError{Name: p.name, N: p.count, Capacity: capacity}}
}

// Given is the capacity where none was set; 0: it is not known.
func (p *permits) Given() int64 { return p.own.Capacity }

// Unset is why permits are refused for which no capacity was set.
func (*permits) Unset() error { return ErrNoCapacity }

func (p *permits) Release(id string, sharded, _ bool) *luacall.Call[luacall.ReleaseReply] {
	if !ours(id) {
		permit, _ := hex.DecodeString(id) // checked by Break; nobody else knows such ids
		return luacall.PermitReleaseOne(p.at(sharded), string(permit))
	}
	return luacall.PermitRelease(p.at(sharded), luacall.PermitHold{ID: id, Count: p.count})
}

// Unused is how long after its last use the semaphore expires; 0: it does not.
func (p *permits) Unused() time.Duration { return p.own.Unused }

// Misfit is the error of a change of the capacity by n, which is more or fewer than it can be changed by.
func (*permits) Misfit(n, capacity int64) error {
	return &rlock.ArgumentError{Name: "n", Value: n, Problem: fmt.Sprintf(
		"must be between %d and %d now: the capacity is %d", -capacity, luacall.MaxCount-capacity, capacity)}
}

// Change sets or changes the capacity, deletes the semaphore, or looks at it.
func (p *permits) Change(
	ctx context.Context, conn luacall.Conn, what store.Change, ask *redisstore.Ask,
) (luacall.CountReply, error) {
	at, r := p.at(p.core.Store.Sharded()), ask.Remembered(p.requests())
	switch what.Verb {
	case store.Set:
		return luacall.PermitCapacity(at, what.N, r).Run(ctx, conn)
	case store.Begin:
		return luacall.PermitCapacityIfAbsent(at, what.N, r).Run(ctx, conn)
	case store.Add:
		reply, err := luacall.PermitAdd(at, what.N, r).Run(ctx, conn)
		if capacity, refused := luacall.Capacity(err); refused {
			err = &store.Refused{Err: p.Misfit(what.N, capacity)}
		}
		return reply, err
	case store.Look, store.Size:
		return luacall.PermitLook(at, what.Verb == store.Size).Run(ctx, conn)
	case store.Delete:
		return luacall.PermitDelete(at, r).Run(ctx, conn)
	default:
		return luacall.CountReply{}, &store.Refused{Err: errVerb}
	}
}

// Inspect groups the permits by hold.
func (p *permits) Inspect(
	ctx context.Context, conn luacall.Conn, sharded bool,
) (luacall.InspectReply, error) {
	reply, err := luacall.PermitInspect(p.at(sharded)).Run(ctx, conn)
	var holders []luacall.Holder
	at := make(map[string]int)
	for _, permit := range reply.Holders {
		id := holdOf(permit.ID)
		if i, known := at[id]; known {
			holders[i].Count++
			continue
		}
		at[id] = len(holders)
		holders = append(holders, luacall.Holder{ID: id, Count: 1, TTL: permit.TTL})
	}
	reply.Holders = holders
	return reply, err
}

// redissons is the length of Redisson's permit ids, in bytes. This module's are longer.
const redissons = 16

// holdOf returns the id of the hold that a permit belongs to: for a permit of this module, the part before the last
// slash; for any other, the text in hex that Redisson's API shows.
func holdOf(permit string) string {
	id, number, found := cutLast(permit, "/")
	if _, err := strconv.ParseUint(number, 10, 32); err != nil || !found || !ours(id) ||
		len(permit) == redissons {
		return hex.EncodeToString([]byte(permit))
	}
	return id
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// ours reports whether id is a hold of this module rather than a permit in hex.
func ours(id string) bool { return strings.Contains(id, ":") }

func (p *permits) Renewer() redisstore.Renewer { return renewer{p.count, p.own.Unused} }

// renewer renews holds of count permits each.
type renewer struct {
	count  int64
	unused time.Duration // see ExpireUnused
}

// Entries is for [redisstore.Multiple].
func (r renewer) Entries() int { return int(r.count) }

func (r renewer) Renew(names, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus] {
	sets := make([]string, len(names))
	for i, name := range names {
		sets[i] = keys.Suffix(name, leasesSuffix)
	}
	if r.unused > 0 {
		return luacall.PermitRenewExpiring(names, sets, ids, r.count, ttls, r.unused.Milliseconds())
	}
	return luacall.PermitRenew(sets, ids, r.count, ttls)
}
