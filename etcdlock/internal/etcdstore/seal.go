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
	var deletes, seals []clientv3.Op
	var leaving []*store.Parting // those of the deletions
	var sealed []seal
	for _, one := range all {
		l := one.Proto.(*Lock)
		s.hub.leave(l.name, one.ID)
		one.Reply = releaseReply(false)
		if key, has := now.keyOf(l, one.ID); has {
			leaving = append(leaving, one)
			deletes = append(deletes, clientv3.OpTxn(stands(key, one.ID), []clientv3.Op{clientv3.OpDelete(key)}, nil))
		}
		// The locks of a set may have one id, and a transaction puts a key once.
		if made := (seal{s.sealKey(one.ID), began}); one.Late > 0 && !slices.Contains(sealed, made) {
			sealed = append(sealed, made)
		}
	}
	if now == nil { // with the lease went all its keys, and copies are refused
		return nil
	}
	for _, one := range sealed {
		seals = append(seals, clientv3.OpPut(one.key, "", clientv3.WithLease(now.id)))
	}
	old := now.outdated(began)
	for _, one := range old {
		seals = append(seals, clientv3.OpDelete(one.key))
	}
	if len(deletes)+len(seals) == 0 {
		return nil
	}
	reply, err := s.txn(sent, "release", len(all), nil, slices.Concat(deletes, seals), nil)
	switch {
	case err == nil:
		now.keep(nil, sealed)
	case leaseless(err):
		now.end()
		return nil
	default:
		now.keep(old, nil)
	}
	if noSpace(err) { // seals have to wait until there is some, for this is sent again; locks are free now
		_, failed := s.txn(sent, "release", len(all), nil, deletes, nil)
		err = cmp.Or(failed, err)
	}
	if err != nil {
		return err
	}
	for i, one := range leaving {
		one.Reply = releaseReply(reply.Responses[i].GetResponseTxn().Succeeded)
		now.free(one.Proto.(*Lock), one.ID, reply.Header.Revision, one.Late > 0)
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
