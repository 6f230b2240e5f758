package etcdlock

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock/internal/etcdstore"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
)

// Guard returns the condition under which a transaction of the application is carried out only while the hold of l
// stands that ctx carries. A holder that was stopped for longer than its lease, and whose lock another has taken
// meanwhile, writes nothing: its transaction takes the other branch. Guard sends nothing.
//
//	err := l.Do(ctx, func(ctx context.Context) error {
//		stands, err := etcdlock.Guard(ctx, l)
//		if err != nil {
//			return err
//		}
//		reply, err := etcd.Txn(ctx).If(stands).Then(clientv3.OpPut("account/1", balance)).Commit()
//		if err == nil && !reply.Succeeded {
//			err = lock.ErrLost
//		}
//		return err
//	})
//
// The transaction must be of the etcd that has the lock, and see its keys: clients of package namespace must have the
// same prefix. Other conditions may stand beside this one: then the other branch does not say which of them failed.
//
// The condition is that of one hold: it is never true again when that has ended, whatever ended it. So that it ends
// with the unlock, the lock passes to no other caller of this process without a request to etcd once Guard was
// called.
//
// An error of Commit, the end of ctx among them, does not say whether the transaction was carried out. Read what it
// wrote before it is repeated.
//
// If ctx carries no live hold, the error is that of Held: lock.ErrNotHeld, or a *lock.LostError.
func Guard(ctx context.Context, l *lock.Lock) (clientv3.Cmp, error) {
	var stands clientv3.Cmp
	switch {
	case ctx == nil:
		return stands, &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	case l == nil:
		return stands, &lock.ArgumentError{Name: "lock", Problem: "must not be nil"}
	}
	parts := (*handle.Lock)(l).Parts()
	if parts.Err != nil {
		return stands, parts.Err
	}
	if parts.Engine == nil {
		return stands, &lock.ArgumentError{Name: "lock", Problem: handle.NoLock}
	}
	of, ok := parts.Request.Proto.(*etcdstore.Lock)
	if !ok {
		return stands, &lock.ArgumentError{Name: "lock", Problem: "must come from a Client of package etcdlock"}
	}
	err := parts.Engine.Pin(ctx, of, func(id string) (known bool, err error) {
		stands, known = of.Stands(id)
		return known, nil
	})
	return stands, err
}
