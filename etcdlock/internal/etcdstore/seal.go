package etcdstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// So many ids stay sealed for as long as their session lives, and more than that for a time: a server that stood still
// carries a request out when it goes on.
const (
	mostSeals = 10_000
	sealLife  = 10 * time.Minute
)

// seal is a key that keeps an id from being used again.
type seal struct {
	key  string
	made time.Duration
}

// sealKey is the key of an id's seal.
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
	now, began := s.sessions.standing(), s.host.Clock.Now()
	var ops []clientv3.Op
	var sealed []seal
	for _, one := range all {
		l := one.Proto.(*Lock)
		s.hub.leave(l.name, l.keyOf(one.ID))
		ops = append(ops, clientv3.OpDelete(l.keyOf(one.ID)))
		// The locks of a set may have one id, and a transaction puts a key once.
		if made := (seal{s.sealKey(one.ID), began}); one.Late > 0 && now != nil && !slices.Contains(sealed, made) {
			sealed = append(sealed, made)
		}
	}
	for _, one := range sealed {
		ops = append(ops, clientv3.OpPut(one.key, "", clientv3.WithLease(now.id)))
	}
	var old []seal
	if now != nil {
		old = now.outdated(began)
	}
	for _, one := range old {
		ops = append(ops, clientv3.OpDelete(one.key))
	}
	reply, err := s.txn(sent, "release", len(all), nil, ops, nil)
	bare := ops[:len(all)]
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
		one.Reply = releaseReply(reply.Responses[i].GetResponseDeleteRange().Deleted)
	}
	return nil
}

// outdated takes the oldest seals from the list, which are not needed any more.
func (s *session) outdated(now time.Duration) (old []seal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, most := 0, min(len(s.seals)-mostSeals, mostOps/4)
	for n < most && now-s.seals[n].made >= sealLife {
		n++
	}
	old, s.seals = s.seals[:n:n], s.seals[n:]
	return old
}

// keep adds seals to the list, old ones that are still there and new ones.
func (s *session) keep(old, made []seal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seals = slices.Concat(old, s.seals, made)
}
