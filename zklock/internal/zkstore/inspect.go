package zkstore

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// first is the node that has a lock.
type first struct {
	name  string // "": nobody has it
	data  []byte
	stat  wire.Stat
	len   int // contenders
	base  wire.Reply
	names []string
}

// first reads who has the lock. A change that is agreed on goes before, so that it is no older state.
func (l *Lock) first(ctx context.Context, name string) (f first, err error) {
	s := l.store
	for range 3 { // it may be deleted in between
		replies, err := s.asks(ctx, name, wire.Agree(), wire.Children(l.path), wire.Get(s.basePath()))
		if err != nil {
			return first{}, err
		}
		f = first{base: replies[2]}
		if f.names, _, err = replies[1].Children(); err != nil {
			return f, meaning(ignore(err, wire.NoNode))
		}
		q := queueOf(f.names, "")
		if q.first == "" {
			return f, nil
		}
		f.name, f.len = q.first, q.len
		if replies, err = s.asks(ctx, name, wire.Get(join(l.path, q.first))); err != nil {
			return first{}, err
		}
		if f.data, f.stat, err = replies[0].Data(); !errors.Is(err, wire.NoNode) {
			return f, meaning(err)
		}
	}
	return first{}, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errChanged}
}

// Inspect implements [store.Protocol]. The first is the holder, and the others wait. What a session has left no server
// says.
func (l *Lock) Inspect(ctx context.Context) (store.InspectReply, error) {
	reply := store.InspectReply{PTTL: -1}
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return reply, err
	}
	defer cancel()
	f, err := l.first(sent, "inspect")
	if err != nil || f.name == "" {
		return reply, err
	}
	base, err := l.store.based(sent, f.base)
	if err != nil {
		return reply, err
	}
	reply.Subscribers = int64(f.len - 1)
	reply.Fence = fence(base, f.stat.Czxid)
	id, _ := idOf(f.name)
	reply.Holders = []store.Holder{{ID: id, Count: 1}}
	return reply, nil
}
