package etcdstore

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// note is what is noted of a hold, in its key.
type note struct {
	Fence int64  `json:"fence"`
	Since int64  `json:"since"` // by the holder's clock: a transaction of etcd has none
	Text  string `json:"text"`
}

// Note implements [store.Noter].
func (l *Lock) Note(ctx context.Context, n store.Note, take bool) (store.Status, error) {
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer cancel()
	key, has := l.store.sessions.standing().keyOf(l, n.ID)
	if !has {
		return store.Gone, nil
	}
	for range 3 { // another turn of this process may write at the same time
		got, err := l.store.get(sent, key)
		switch {
		case err != nil:
			return 0, meaning(err)
		case len(got.Kvs) == 0:
			return store.Gone, nil
		}
		id, noted := l.idOf(got.Kvs[0])
		if id != n.ID {
			return store.Gone, nil
		}
		known, _ := noteOf(noted)
		if known.Fence > n.Fence {
			return store.Busy, nil
		}
		next := note{Fence: n.Fence, Since: known.Since, Text: n.Text}
		if known.Fence != n.Fence {
			next.Since = time.Now().UnixMicro()
		}
		noted = nil
		if !take {
			if noted, err = json.Marshal(next); err != nil {
				return 0, &store.Refused{Err: err}
			}
		}
		reply, err := l.store.txn(sent, "note", 1,
			[]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", got.Kvs[0].ModRevision)},
			[]clientv3.Op{clientv3.OpPut(key, valueOf(id, noted), clientv3.WithIgnoreLease())}, nil)
		switch {
		case err != nil:
			return 0, err
		case reply.Succeeded:
			return store.Done, nil
		}
	}
	return 0, &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errSwapped}
}

// noteOf is what was noted of a hold; false: nothing was, or not by us.
func noteOf(value []byte) (n note, ok bool) {
	if len(value) == 0 || json.Unmarshal(value, &n) != nil {
		return note{}, false
	}
	return n, true
}

// Noted implements [store.Noter].
func (l *Lock) Noted(ctx context.Context) (store.Note, error) {
	sent, cancel, err := l.store.begin(ctx)
	if err != nil {
		return store.Note{}, err
	}
	defer cancel()
	got, err := l.store.get(sent, l.prefix, clientv3.WithFirstCreate()...)
	if err != nil || len(got.Kvs) == 0 {
		return store.Note{}, meaning(err)
	}
	id, noted := l.idOf(got.Kvs[0])
	n, ok := noteOf(noted)
	if !ok {
		return store.Note{}, nil
	}
	return store.Note{ID: id, Fence: n.Fence, Since: n.Since, Text: n.Text}, nil
}

var errSwapped = errors.New("the note was changed by another request")
