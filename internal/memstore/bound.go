package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// bound is a protocol in memory. Its primitive is told by its rules; it has the requests of the plain lock.
type bound struct {
	store.Rules
	store *Store
}

// Bind makes a protocol of the rules of one.
func (s *Store) Bind(rules store.Rules) store.Protocol {
	b := &bound{rules, s}
	if t := rules.Traits(); rules.Mode() != "" || t.Queues || t.Marks || t.Crowds {
		return &strange{b}
	}
	return b
}

var errUnsupported = errors.New("memstore: there is no such lock in memory")

func (b *bound) Acquire(ctx context.Context, ask store.Ask) (store.AcquireReply, error) {
	return exchange(ctx, b.store, Acquire, b.Key(), func() (store.AcquireReply, error) {
		return b.store.server.acquireLocked(b.Key(), ask), nil
	})
}

func (s *Server) acquireLocked(key string, ask store.Ask) store.AcquireReply {
	reply := store.AcquireReply{Now: now()}
	l := s.atLocked(key)
	switch {
	case reply.Now > ask.NotAfter:
		reply.Status = store.Late
	case l == nil:
		reply.Status = store.Held
		s.locks[key] = &lock{id: ask.ID, count: 1, expires: time.Now().Add(ask.Lease)}
		reply.Fence, reply.Spare = s.mintLocked(key, reply.Now)
	case l.id == ask.ID:
		reply.Status, reply.Fence, reply.PTTL = store.Already, s.fences[key], time.Until(l.expires)
	default:
		reply.Status, reply.PTTL = store.Busy, time.Until(l.expires)
	}
	return reply
}

func (b *bound) Handoff(ctx context.Context, from string, ask store.Ask) (store.HandoffReply, error) {
	return exchange(ctx, b.store, Handoff, b.Key(), func() (store.HandoffReply, error) {
		s, key := b.store.server, b.Key()
		reply := store.HandoffReply{Now: now(), Status: s.moveLocked(key, from, ask)}
		switch reply.Status {
		case store.Done:
			reply.Fence, reply.Spare = s.mintLocked(key, reply.Now)
		case store.Already:
			reply.Fence = s.fences[key]
		}
		return reply, nil
	})
}

func (b *bound) Adopt(ctx context.Context, from string, ask store.Ask) (store.AdoptReply, error) {
	return exchange(ctx, b.store, Adopt, b.Key(), func() (store.AdoptReply, error) {
		return store.AdoptReply{Now: now(), Status: b.store.server.moveLocked(b.Key(), from, ask)}, nil
	})
}

// moveLocked makes one hold another one.
func (s *Server) moveLocked(key, from string, ask store.Ask) store.Status {
	switch {
	case now() > ask.NotAfter:
		return store.Late
	case s.holdLocked(key, from) != nil:
		s.locks[key] = &lock{id: ask.ID, count: 1, expires: time.Now().Add(ask.Lease)}
		return store.Done
	case s.holdLocked(key, ask.ID) != nil:
		return store.Already
	}
	return store.Gone
}

// Reenter raises the lease, and never shortens it.
func (b *bound) Reenter(ctx context.Context, step store.Step) (store.StepReply, error) {
	return b.step(ctx, Reenter, step, func(l *lock) {
		if until := time.Now().Add(step.TTL); step.TTL > 0 && until.After(l.expires) {
			l.expires = until
		}
	})
}

func (b *bound) Leave(ctx context.Context, step store.Step) (store.StepReply, error) {
	return b.step(ctx, Leave, step, func(l *lock) { l.expires = time.Now().Add(step.TTL) })
}

// step writes a count by an operation number that is higher than the last; a copy has the same one.
func (b *bound) step(
	ctx context.Context, kind Kind, step store.Step, expire func(*lock),
) (store.StepReply, error) {
	return exchange(ctx, b.store, kind, b.Key(), func() (store.StepReply, error) {
		l := b.store.server.holdLocked(b.Key(), step.ID)
		switch {
		case l == nil:
			return store.StepReply{Status: store.Gone}, nil
		case l.op >= step.Op:
			return store.StepReply{Status: store.Already}, nil
		}
		l.count, l.op = step.Count, step.Op
		expire(l)
		return store.StepReply{Status: store.Done}, nil
	})
}

func (b *bound) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	return exchange(ctx, b.store, Release, b.Key(), func() (store.ReleaseReply, error) {
		return b.store.server.releaseLocked(b, id), nil
	})
}

func (s *Server) releaseLocked(rules store.Rules, id string) store.ReleaseReply {
	reply := store.ReleaseReply{Status: store.Gone, Now: now()}
	if s.holdLocked(rules.Key(), id) != nil {
		delete(s.locks, rules.Key())
		reply.Status, reply.Receivers = store.Done, s.publishLocked(rules.Channel())
	}
	return reply
}

func (b *bound) Inspect(ctx context.Context) (store.InspectReply, error) {
	return exchange(ctx, b.store, Inspect, b.Key(), func() (store.InspectReply, error) {
		s := b.store.server
		reply := store.InspectReply{
			PTTL: -1, Fence: s.fences[b.Key()], Subscribers: int64(len(s.channels[b.Channel()])),
		}
		if l := s.atLocked(b.Key()); l != nil {
			reply.PTTL = time.Until(l.expires)
			reply.Holders = []store.Holder{{ID: l.id, Count: l.count}}
		}
		return reply, nil
	})
}

func (b *bound) Enqueue(context.Context, []store.Ask, bool) (store.EnqueueReply, error) {
	return store.EnqueueReply{}, &store.Refused{Err: errUnsupported}
}

// strange is a protocol of a primitive that is not in memory: nothing of it can be taken.
type strange struct{ *bound }

func (*strange) Acquire(context.Context, store.Ask) (store.AcquireReply, error) {
	return store.AcquireReply{}, &store.Refused{Err: errUnsupported}
}
