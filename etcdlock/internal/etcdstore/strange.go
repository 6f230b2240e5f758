package etcdstore

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// uses reports that a key is that of an id of this session, or will be; with "", of any.
func (s *session) uses(key, id string) bool {
	name := key[:max(strings.LastIndexByte(key, '/'), 0)]
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, p := range s.places[name] {
		if s.keyBelow(name+"/", n) == key {
			return p.id != "" && (id == "" || p.id == id)
		}
	}
	return false
}

// deleteStrange deletes a strange key as it was read.
func (s *Store) deleteStrange(ctx context.Context, now *session, kv *mvccpb.KeyValue) error {
	key := string(kv.Key)
	reply, err := s.txn(ctx, "release", 1,
		[]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)},
		[]clientv3.Op{clientv3.OpDelete(key)}, nil)
	if err != nil || !reply.did() {
		return err
	}
	at := strings.LastIndexByte(key, '/')
	l := s.Lock(key[:at])
	id, _ := l.idOf(kv)
	now.free(l, id, reply.Header.Revision, false)
	s.host.Warn("deleted the key of a lock that hung on this client's lease, and that it does not hold: "+
		"etcd was restored from a snapshot, or somebody has put it there", "key", key)
	return nil
}

// sweep deletes the strange keys that hang on a session's lease.
//
// Only this client puts keys there, and it knows the id of each key of a lock. That is otherwise where a snapshot of
// etcd was restored while the client lived: a lock that the client had then is there again, and nobody would ever
// release it, since the client renews its lease. Such a key is strange. It is found here, or where the client looks
// at the key for something else. A sweep is due when a server is asked for a renewal on another stream than before:
// no stream outlives a server that goes on from a snapshot.
//
// A request of a sweep that has no answer is one of the next sweep: a key is deleted as it was read.
func (s *Store) sweep(now *session) error {
	ctx, cancel, err := s.begin(context.Background())
	if err != nil {
		return err
	}
	defer cancel()
	all, err := s.timeToLive(ctx, now.id, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	for _, raw := range all.Keys {
		key := string(raw)
		if strings.HasPrefix(key, s.own) || now.uses(key, "") {
			continue
		}
		got, err := s.get(ctx, key)
		if err != nil {
			return err
		}
		if len(got.Kvs) == 0 || clientv3.LeaseID(got.Kvs[0].Lease) != now.id || now.uses(key, "") {
			continue
		}
		if _, _, isLock := s.split(got.Kvs[0]); !isLock { // an operator's key, which is in nobody's way
			continue
		}
		if err := s.deleteStrange(ctx, now, got.Kvs[0]); err != nil {
			return err
		}
	}
	return nil
}

// sweepSoon has the strange keys of a session deleted. A sweep is due again if that fails, or if it became due while
// the keys were read.
func (s *Store) sweepSoon(now *session) {
	s.looks.sweepDue.Store(false)
	s.looks.run(func() {
		if s.sweep(now) != nil {
			s.looks.sweepDue.Store(true)
		}
	})
}
