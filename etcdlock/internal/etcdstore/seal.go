package etcdstore

import (
	"cmp"
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// mostSeals is how many ids a session keeps sealed. By the time so many more ids were given up, no copy of a request for
// the oldest is under way.
const mostSeals = 10_000

// sealKey is the key that keeps an id from being used again.
func (s *Store) sealKey(id string) string { return s.own + "sealed/" + id }

// ReleaseEach implements [store.Store].
//
// An id of which a copy of a request may still come is sealed with its release: the copy finds the seal, and does
// nothing. The seal hangs on the client's lease, as everything that such a copy could write; when that lease is over
// the copy is refused for that.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	for len(all) > 0 {
		n := min(len(all), mostOps/4)
		s.releaseEach(ctx, all[:n])
		all = all[n:]
	}
}

func (s *Store) releaseEach(ctx context.Context, all []*store.Parting) {
	err := s.sealAll(ctx, all)
	for _, one := range all {
		one.Err, one.Again = err, 0
	}
}

func (s *Store) sealAll(ctx context.Context, all []*store.Parting) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	now := s.sessions.live()
	var ops []clientv3.Op
	var sealed []string
	for _, one := range all {
		l := one.Proto.(*Lock)
		s.hub.leave(l.name, l.keyOf(one.ID))
		ops = append(ops, clientv3.OpDelete(l.keyOf(one.ID)),
			clientv3.OpGet(l.prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))
		// The locks of a set may have one id, and a transaction puts a key once.
		if seal := s.sealKey(one.ID); one.Late > 0 && now != nil && !slices.Contains(sealed, seal) {
			sealed = append(sealed, seal)
		}
	}
	for _, key := range sealed {
		ops = append(ops, clientv3.OpPut(key, "", clientv3.WithLease(now.id)))
	}
	var old []string
	if now != nil {
		old = now.outdated()
	}
	for _, key := range old {
		ops = append(ops, clientv3.OpDelete(key))
	}
	reply, err := s.txn(sent, "release", len(all), nil, ops, nil)
	bare := ops[:2*len(all)]
	switch {
	case err == nil && now != nil:
		now.keep(nil, sealed)
	case leaseless(err): // with it went all its keys, and copies are refused
		now.end()
		reply, err = s.txn(sent, "release", len(all), nil, bare, nil)
	case err != nil && now != nil:
		now.keep(old, nil)
	}
	if noSpace(err) { // seals have to wait until there is some, for this is sent again; locks are free now
		_, failed := s.txn(sent, "release", len(all), nil, bare, nil)
		err = cmp.Or(failed, err)
	}
	if err != nil {
		return err
	}
	for i, one := range all {
		one.Reply = releaseReply(reply.Responses[2*i], reply.Responses[2*i+1])
	}
	return nil
}

// outdated takes the oldest seals from the list, which are not needed any more.
func (s *session) outdated() (old []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(max(len(s.seals)-mostSeals, 0), mostOps/4)
	old, s.seals = s.seals[:n:n], s.seals[n:]
	return old
}

// keep adds seals to the list, old ones that are still there and new ones.
func (s *session) keep(old, made []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seals = slices.Concat(old, s.seals, made)
}
