package etcdstore

import (
	"context"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Row is one name below which there are keys of locks.
type Row struct {
	Name    string
	ID      string // of the holder, whose key was made first
	Fence   int64
	Waiters int // the others

	made int64 // the revision of its key
}

const listPage = 500

// page reads the keys of a range up to a page, and the base of tokens, if there are any.
func (s *Store) page(ctx context.Context, from, end string) (got *pb.RangeResponse, base int64, err error) {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer cancel()
	keys := clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithLimit(listPage),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	reply, err := s.txn(sent, "list", 1, nil, []clientv3.Op{keys, clientv3.OpGet(s.baseKey())}, nil)
	if err != nil {
		return nil, 0, err
	}
	if got = reply.Responses[0].GetResponseRange(); len(got.Kvs) > 0 {
		base, err = s.based(sent, one(reply.Responses[1]))
	}
	return got, base, err
}

// List tells the names below a prefix that somebody holds, in the order of names. A key is that of a lock if it hangs
// on a lease and is no key of this package.
func (s *Store) List(ctx context.Context, prefix string, limit func() context.Context, yield func(Row) bool) error {
	var row Row
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	if prefix == "" {
		from, end = "\x00", "\x00"
	}
	for {
		got, base, err := s.page(limit(), from, end)
		if err != nil {
			return err
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
			row.add(id, base, kv.CreateRevision)
		}
		if !got.More || len(got.Kvs) == 0 {
			break
		}
		next := string(got.Kvs[len(got.Kvs)-1].Key) + "\x00"
		if next <= from {
			return meaning(errAnswer) // which would go on for ever
		}
		from = next
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
	id, _ = idBelow(key[:at+1], kv)
	return key[:at], id, true
}

func (r *Row) add(id string, base, revision int64) {
	if r.ID != "" {
		r.Waiters++
	}
	if r.ID == "" || revision < r.made {
		r.ID, r.Fence, r.made = id, fence(base, revision), revision
	}
}
