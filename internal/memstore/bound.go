package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// primitive is what one kind of lock does at one key. Its methods are called under the server's mutex, and those that
// take something only with a request that was read before its not-after.
type primitive interface {
	acquire(ask store.Ask) (store.AcquireReply, error)
	adopt(ask store.Ask) store.Status // acquires from another hold
	levels(id string, from, to int64) int64
	release(id string) store.ReleaseReply
	renew(id string, ttl time.Duration) bool
	inspect() store.InspectReply
	subscribers() int64
	enqueue(asks []store.Ask) (store.EnqueueReply, error)
	change(what store.Change, ask store.Ask) (store.ChangeReply, error)
}

// bound is a protocol in memory: it has its primitive carry requests out.
type bound struct {
	store.Rules
	primitive
	store *Store
	looks bool // to acquire is to look, which may be late
}

// Bind makes a protocol of the rules of one, which tell its primitive.
func (s *Store) Bind(rules store.Rules) store.Protocol {
	b := &bound{Rules: rules, primitive: unknown{}, store: s}
	at := place{s.server, rules.Key(), rules.Channel()}
	switch gate, gated := rules.(gated); {
	case rules.Mode() == "" && rules.Traits().Joins:
		b.primitive = plain{at}
	case gated && rules.Mode() == "read":
		b.primitive = reader{at}
	case gated && rules.Mode() == "write":
		b.primitive = writer{at, gate.GateLife()}
	case rules.Traits().Queues:
		b.primitive = newFair(at, rules.(queued).Queue())
	case rules.Mode() == "permit":
		b.primitive = permits{at, rules.Traits().Portion, rules.(limited)}
	case rules.Mode() == "count":
		b.primitive = counts{at, rules.(counted)}
	case rules.Mode() == "latch":
		b.primitive, b.looks = latch{counts{place: at}}, true
	}
	return b
}

// place is a key of a server, with the channel of its releases. It refuses what a primitive has not.
type place struct {
	*Server
	key, channel string
}

func (place) change(store.Change, store.Ask) (store.ChangeReply, error) {
	return store.ChangeReply{}, &store.Refused{Err: errUnsupported}
}

func (place) enqueue([]store.Ask) (store.EnqueueReply, error) {
	return store.EnqueueReply{}, &store.Refused{Err: errUnsupported}
}

func (p place) subscribers() int64 { return int64(len(p.channels[p.channel])) }

func (place) adopt(store.Ask) store.Status      { return store.Gone }
func (place) levels(string, int64, int64) int64 { return 0 }
func (place) renew(string, time.Duration) bool  { return false }
func (place) inspect() store.InspectReply       { return store.InspectReply{PTTL: -1} }

// late reports that a request does nothing any more.
func late(now int64, ask store.Ask) bool { return now > ask.NotAfter }

func (b *bound) Acquire(ctx context.Context, ask store.Ask) (store.AcquireReply, error) {
	kind := Acquire
	if ask.From != "" {
		kind = Adopt
	}
	return exchange(ctx, b.store, kind, b.Key(), func() (reply store.AcquireReply, err error) {
		now := b.store.server.microsLocked()
		switch {
		case late(now, ask) && !b.looks:
			reply.Status = store.Late
		case ask.From != "":
			reply.Status = b.adopt(ask)
		default:
			reply, err = b.acquire(ask)
		}
		reply.Now = now
		return reply, err
	})
}

func (b *bound) Levels(ctx context.Context, id string, from, to int64) (int64, error) {
	return exchange(ctx, b.store, Levels, b.Key(), func() (int64, error) { return b.levels(id, from, to), nil })
}

func (b *bound) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	return exchange(ctx, b.store, Release, b.Key(), func() (store.ReleaseReply, error) {
		return b.releaseNow(id), nil
	})
}

// releaseNow tells the time as well, read before the hold is looked at.
func (b *bound) releaseNow(id string) store.ReleaseReply {
	now := b.store.server.microsLocked()
	reply := b.release(id)
	reply.Now = now
	return reply
}

func (b *bound) Inspect(ctx context.Context) (store.InspectReply, error) {
	return exchange(ctx, b.store, Inspect, b.Key(), func() (store.InspectReply, error) {
		reply := b.inspect()
		reply.Fence, reply.Subscribers = b.store.server.fences[b.Key()], b.subscribers()
		return reply, nil
	})
}

func (b *bound) Change(ctx context.Context, what store.Change, ask store.Ask) (store.ChangeReply, error) {
	return exchange(ctx, b.store, Change, b.Key(), func() (reply store.ChangeReply, err error) {
		now := b.store.server.microsLocked()
		if late(now, ask) && what.Verb != store.Look {
			reply.Status = store.Late
		} else {
			reply, err = b.change(what, ask)
		}
		reply.Now = now
		return reply, err
	})
}

func (b *bound) Serving(ids []string) store.Protocol {
	f, queues := b.primitive.(fair)
	if !queues {
		return b
	}
	next := *b
	next.primitive = f.serving(ids)
	return &next
}

func (b *bound) Keeping(until int64, as string) store.Protocol {
	p, ok := b.primitive.(plain)
	if !ok {
		return b
	}
	next := *b
	next.primitive = kept{p, until, as}
	return &next
}

func (b *bound) Enqueue(ctx context.Context, asks []store.Ask) (store.EnqueueReply, error) {
	return exchange(ctx, b.store, Enqueue, b.Key(), func() (reply store.EnqueueReply, err error) {
		now := b.store.server.microsLocked()
		if late(now, asks[0]) {
			reply.Status = store.Late
		} else {
			reply, err = b.enqueue(asks)
		}
		reply.Now = now
		return reply, err
	})
}

var errUnsupported = errors.New("memstore: there is no such lock in memory")

// unknown is a primitive that is not in memory: nothing of it can be taken, so nothing else is asked of it.
type unknown struct{ primitive }

func (unknown) acquire(store.Ask) (store.AcquireReply, error) {
	return store.AcquireReply{}, &store.Refused{Err: errUnsupported}
}
