package zkstore

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// leaving is one release.
type leaving struct {
	*store.Parting
	place *place
	path  string // of its node
}

// Release implements [store.Protocol].
func (l *Lock) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	s := l.store
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return store.ReleaseReply{}, err
	}
	defer cancel()
	n, p := s.find(l, id)
	if p == nil {
		return l.remove(sent, id)
	}
	one := &leaving{Parting: &store.Parting{Proto: l, ID: id}, place: p}
	n.release(sent, []*leaving{one})
	return one.Reply, one.Err
}

// ReleaseEach implements [store.Store].
//
// Where a request may still be carried out that makes an id's node, the session is attached first: then that has
// happened, or never will. So no release has to be repeated for it.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		for _, one := range all {
			one.Err = err
		}
		return
	}
	defer cancel()
	of := make(map[*session][]*leaving)
	for _, one := range all {
		one.Reply, one.Err, one.Again = store.ReleaseReply{Status: store.Gone}, nil, 0
		n, p := s.find(one.Proto.(*Lock), one.ID)
		if one.Unasked = p == nil; p != nil {
			of[n] = append(of[n], &leaving{Parting: one, place: p})
		}
	}
	var releasing sync.WaitGroup
	for n, some := range of {
		releasing.Go(func() { n.release(sent, some) })
	}
	releasing.Wait()
}

// release deletes the nodes of ids.
func (n *session) release(ctx context.Context, all []*leaving) {
	for _, one := range all {
		n.store.hub.leave(one.place.name, one.ID)
		n.unholds(one.place)
		one.Reply = store.ReleaseReply{Status: store.Gone}
	}
	unsettled := n.settle(ctx, all)
	var reqs []wire.Request
	var asked []*leaving
	for _, one := range all {
		path, _, doubt := n.known(one.place)
		switch {
		case path != "":
			one.path = path
			reqs, asked = append(reqs, wire.Delete(path)), append(asked, one)
		case doubt && unsettled != nil:
			one.Err = unsettled
		default:
			one.Unasked = true
			n.dismiss(one.place)
		}
	}
	for len(reqs) > 0 {
		some := min(len(reqs), mostTogether)
		n.delete(ctx, reqs[:some], asked[:some])
		reqs, asked = reqs[some:], asked[some:]
	}
}

// settle has the session attached, if that is needed to know whether one of the ids has a node.
func (n *session) settle(ctx context.Context, all []*leaving) error {
	err := n.attach(ctx, func() bool {
		for _, one := range all {
			if p := one.place; p.doubt || p.path == "" && p.asking > 0 {
				return false
			}
		}
		return true
	})
	if errors.Is(err, errOver) {
		return nil
	}
	return meaning(err)
}

// delete deletes the nodes of those that are leaving, and once more those of which there is no answer. With a session
// that is over went all of them.
func (n *session) delete(ctx context.Context, reqs []wire.Request, all []*leaving) {
	var first error
	for again := range 2 {
		began := n.store.host.Clock.Now()
		replies, _, err := n.do(ctx, reqs...)
		n.store.command("release", len(reqs), began, err)
		err = behind(first, err)
		for i, r := range replies {
			n.left(all[i], r.Err, again > 0)
		}
		rest := all[len(replies):]
		over := errors.Is(err, errOver)
		for _, one := range rest {
			if one.Unasked = over; !over {
				one.Err = meaning(err)
			}
		}
		if !repeats(ctx, err) {
			return
		}
		first, reqs, all = err, reqs[len(replies):], rest
	}
}

// left notes the answer to the deletion of a node. What is not there was deleted by the request before, if there was
// one.
func (n *session) left(one *leaving, err error, again bool) {
	one.Err = nil
	switch {
	case err == nil, errors.Is(err, wire.NoNode):
		if err == nil || again {
			one.Reply.Status = store.Done
		}
		n.free(one.place, one.path)
	case errors.Is(err, wire.SessionExpired):
	default:
		one.Err = meaning(err)
	}
}

// remove releases an id that has no node in this client's sessions: that of another client, whose lock is broken, or
// one whose session is over, of which nothing is left.
func (l *Lock) remove(ctx context.Context, id string) (store.ReleaseReply, error) {
	reply := store.ReleaseReply{Status: store.Gone}
	replies, err := l.store.asks(ctx, "release", wire.Children(l.path))
	if err != nil {
		return reply, err
	}
	names, _, err := replies[0].Children()
	if err != nil {
		return reply, meaning(ignore(err, wire.NoNode))
	}
	for _, name := range names {
		if of, _ := idOf(name); of != id {
			continue
		}
		replies, err := l.store.asks(ctx, "release", wire.Delete(join(l.path, name)))
		if err != nil {
			return reply, err
		}
		if replies[0].Err == nil {
			reply.Status = store.Done
		}
		return reply, meaning(ignore(replies[0].Err, wire.NoNode))
	}
	return reply, nil
}
