package etcdstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// sealKey is the key of a session's seal.
//
// A session has one seal, a key that hangs on its lease, and whose revision divides its acquisitions. Each of them says
// which revision of etcd its client had seen when it was sent, and is refused if the seal was written later. So to
// write the seal refuses every copy that is on its way, of whatever id, for as long as the session lives: it is one
// key, however many ids were given up. An acquisition that is refused only because the seal was written meanwhile, for
// another id, is sent again.
func (s *Store) sealKey(now *session) string { return fmt.Sprintf("%ssealed/%x", s.own, int64(now.id)) }

// unsealed is the condition that no seal was written later than at a revision.
func (s *Store) unsealed(now *session, at int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(s.sealKey(now)), "<", at+1)
}

// sealedAt is the revision at which a seal was written, by what was read of its key; 0: there is none.
func sealedAt(seal *mvccpb.KeyValue) int64 {
	if seal == nil {
		return 0
	}
	return seal.ModRevision
}

// ReleaseEach implements [store.Store].
//
// An id of which a copy of a request may still come is sealed with its release: the copy finds the seal, and does
// nothing. The seal hangs on the client's lease, as everything that such a copy could write; when that lease is over
// the copy is refused for that.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	for len(all) > 0 {
		n := min(len(all), s.mostOps()/4)
		err := s.releaseAll(ctx, all[:n])
		if s.fewer(err) {
			continue
		}
		if err != nil {
			for _, one := range all[:n] {
				one.Err, one.Again = err, 0
			}
		}
		all = all[n:]
	}
}

func (s *Store) releaseAll(ctx context.Context, all []*store.Parting) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	now := s.sessions.standing()
	var deletes, seal []clientv3.Op
	var leaving []*store.Parting // those of the deletions
	for _, one := range all {
		l := one.Proto.(*Lock)
		one.Reply, one.Err, one.Again = releaseReply(false), nil, 0
		key, copied, has := s.leaving(now, l, one.ID)
		if one.Unasked = !has; one.Unasked {
			continue
		}
		leaving = append(leaving, one)
		deletes = append(deletes, clientv3.OpTxn(stands(key, one.ID), []clientv3.Op{clientv3.OpDelete(key)}, nil))
		if copied && seal == nil {
			seal = []clientv3.Op{clientv3.OpPut(s.sealKey(now), "", clientv3.WithLease(now.id))}
		}
	}
	if len(leaving) == 0 { // with a lease went all its keys, and copies are refused
		return nil
	}
	reply, err := s.txn(sent, "release", len(all), nil, slices.Concat(deletes, seal), nil)
	if leaseless(err) {
		s.ended(now)
		return nil
	}
	if noSpace(err) { // the seal has to wait until there is some, for this is sent again; locks are free now
		_, failed := s.txn(sent, "release", len(all), nil, deletes, nil)
		err = cmp.Or(failed, err)
	}
	if err != nil {
		return err
	}
	for i, one := range leaving {
		one.Reply = releaseReply(reply.twice || reply.Responses[i].GetResponseTxn().Succeeded)
		if !now.free(one.Proto.(*Lock), one.ID, reply.Header.Revision, seal != nil) {
			one.Again = request.LastPause
		}
	}
	return nil
}
