package etcdstore

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Row is one name below which there are keys of locks.
type Row struct {
	Name     string
	ID       string // of the one that came first, and holds the lock
	Revision int64  // at which its key was made
	Fence    int64
	Waiters  int // the others
}

const listPage = 500

// List tells the names below a prefix that somebody holds, in the order of names. A key is that of a lock if it hangs
// on a lease and is no key of this package.
func (s *Store) List(ctx context.Context, prefix string, limit func() context.Context, yield func(Row) bool) error {
	var row Row
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	if prefix == "" {
		from, end = "\x00", "\x00"
	}
	for {
		sent, cancel, err := s.begin(limit())
		if err != nil {
			return err
		}
		got, err := s.cli.Get(sent, from, clientv3.WithRange(end), clientv3.WithLimit(listPage),
			clientv3.WithKeysOnly(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
		cancel()
		if err != nil {
			return meaning(err)
		}
		for _, kv := range got.Kvs {
			name, id, ok := s.split(kv)
			if !ok {
				continue
			}
			if name != row.Name {
				if row.Name != "" && !yield(row) {
					return nil
				}
				row = Row{Name: name}
			}
			row.add(id, kv.CreateRevision)
		}
		if !got.More || len(got.Kvs) == 0 {
			break
		}
		from = string(got.Kvs[len(got.Kvs)-1].Key) + "\x00"
	}
	if row.Name != "" {
		yield(row)
	}
	return ctx.Err()
}

// split is the name and the id of a key of a lock.
func (s *Store) split(kv *mvccpb.KeyValue) (name, id string, ok bool) {
	key := string(kv.Key)
	at := strings.LastIndexByte(key, '/')
	if kv.Lease == 0 || at <= 0 || strings.HasPrefix(key, s.own) {
		return "", "", false
	}
	return key[:at], key[at+1:], true
}

func (r *Row) add(id string, revision int64) {
	if r.ID != "" {
		r.Waiters++
	}
	if r.ID == "" || revision < r.Revision {
		r.ID, r.Revision = id, revision
	}
}
