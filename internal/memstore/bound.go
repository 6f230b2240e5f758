package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// primitive is what one kind of lock does at one key. Its methods are called under the server's mutex, and those that
// take something only with a request that was read before its not-after.
type primitive interface {
	acquire(ask timedAsk) (store.AcquireReply, error)
	adopt(ask store.Ask) store.Status // acquires from another hold
	levels(id string, from, to int64) int64
	release(id string) store.ReleaseReply
	renew(id string, ttl time.Duration) bool
	inspect() store.InspectReply
	subscribers() int64
	enqueue(asks []store.Ask) (store.EnqueueReply, error)
	change(what store.Change, ask timedAsk) (store.ChangeReply, error)
}

// timedAsk is a request that must not be carried out late, as the server carries it out.
type timedAsk struct {
	store.Ask
	serverclock.Window
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
	case rules.Mode() == "" && rules.Traits().InSets:
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

func (place) change(store.Change, timedAsk) (store.ChangeReply, error) {
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

// dated is an answer with the server's time.
type dated[R any] struct {
	reply R
	now   int64

	tooLate bool // the request did nothing, because it came too late
}

// Late reports that.
func (d dated[R]) Late() bool { return d.tooLate }

// timed sends a request that must not be carried out late. The server carries it out by do, unless it comes too late;
// one that only looks never does.
func timed[R any](
	ctx context.Context, s *Store, kind Kind, key string, req store.Ask, looks bool,
	do func(serverclock.Window) (R, error),
) (reply R, receipt store.Receipt, err error) {
	r := serverclock.Request{Node: s.Node(key), When: req.Timing, First: req.First.Late, Patience: req.Patience}
	send := func(within serverclock.Window) (serverclock.Answer, error) {
		got, err := exchange(s.Within(ctx, req.Within), s, kind, key, func() (got dated[R], err error) {
			got.now = s.server.microsLocked()
			if got.tooLate = got.now > within.NotAfter && !looks; !got.tooLate {
				got.reply, err = do(within)
			}
			return got, err
		})
		reply = got.reply
		return serverclock.Answer{TooLate: got.tooLate, Now: got.now}, err
	}
	receipt, err = s.clocks.Send(ctx, s.host.Clock.Now, r, send)
	return reply, receipt, err
}

func (b *bound) Acquire(ctx context.Context, ask *store.Ask) (store.AcquireReply, store.Receipt, error) {
	kind, req := Acquire, *ask // a copy of the request may be read later
	if req.From != "" {
		kind = Adopt
	}
	do := func(within serverclock.Window) (store.AcquireReply, error) {
		if req.From != "" {
			return store.AcquireReply{Status: b.adopt(req)}, nil
		}
		return b.acquire(timedAsk{req, within})
	}
	return timed(ctx, b.store, kind, b.Key(), req, b.looks, do)
}

// Settled implements [store.Protocol]. The server forgets the id when it must not be sent again.
func (b *bound) Settled(string, store.Late) {}

func (b *bound) Levels(ctx context.Context, id string, from, to int64) (int64, error) {
	return exchange(ctx, b.store, Levels, b.Key(), func() (int64, error) { return b.levels(id, from, to), nil })
}

func (b *bound) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	return exchange(ctx, b.store, Release, b.Key(), func() (store.ReleaseReply, error) {
		if b.store.server.rowLocked(b.Key()) {
			return store.ReleaseReply{}, errRefused
		}
		return b.release(id), nil
	})
}

func (b *bound) Inspect(ctx context.Context) (store.InspectReply, error) {
	return exchange(ctx, b.store, Inspect, b.Key(), func() (store.InspectReply, error) {
		reply := b.inspect()
		reply.Fence, reply.Subscribers = b.store.server.fences[b.Key()], b.subscribers()
		return reply, nil
	})
}

func (b *bound) Change(
	ctx context.Context, what store.Change, req store.Ask,
) (store.ChangeReply, store.Receipt, error) {
	do := func(within serverclock.Window) (store.ChangeReply, error) {
		return b.change(what, timedAsk{req, within})
	}
	return timed(ctx, b.store, Change, b.Key(), req, what.Verb == store.Look, do)
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

func (b *bound) Retaining(until int64, most time.Duration, as string) store.Protocol {
	p, ok := b.primitive.(plain)
	if !ok {
		return b
	}
	next := *b
	next.primitive = retaining{p, until, most, as}
	return &next
}

func (b *bound) Enqueue(ctx context.Context, asks []store.Ask) (store.EnqueueReply, store.Receipt, error) {
	do := func(serverclock.Window) (store.EnqueueReply, error) { return b.enqueue(asks) }
	return timed(ctx, b.store, Enqueue, b.Key(), asks[0], false, do)
}

var errUnsupported = errors.New("memstore: there is no such lock in memory")

// unknown is a primitive that is not in memory: nothing of it can be taken, so nothing else is asked of it.
type unknown struct{ primitive }

func (unknown) acquire(timedAsk) (store.AcquireReply, error) {
	return store.AcquireReply{}, &store.Refused{Err: errUnsupported}
}
