package history

import (
	"context"
	"math/rand/v2"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// etcdLosses are what an operator can take away on etcd. What a majority has agreed on is not forgotten otherwise.
var etcdLosses = []fault{
	{"holder's key deleted", losing(deleteFirst)},
	{"all keys of a name deleted", losing(deleteName)},
	{"all keys deleted", losing(deleteAll)},
	{"base of tokens deleted", losing(deleteBase)},
	{"client's lease revoked", revoke},
}

// remove deletes keys, as an operator may do, and reports whether there were any.
func (g *etcdGround) remove(key string, which ...clientv3.OpOption) (any bool, err error) {
	ctx, cancel := asking()
	defer cancel()
	reply, err := g.admin.Delete(ctx, key, which...)
	return err == nil && reply.Deleted > 0, err
}

// deleteFirst deletes the key that stands first below a name. As long as it is there, its owner holds the lock.
func deleteFirst(r *run, random *rand.Rand) (name string, lost bool, err error) {
	name = names[random.IntN(len(names))]
	keys, err := r.etcd().keys(name + "/")
	if err == nil && len(keys) > 0 {
		lost, err = r.etcd().remove(keys[0])
	}
	return name, lost, err
}

func deleteName(r *run, random *rand.Rand) (name string, lost bool, err error) {
	name = names[random.IntN(len(names))]
	lost, err = r.etcd().remove(name+"/", clientv3.WithPrefix())
	return name, lost, err
}

func deleteAll(r *run, _ *rand.Rand) (name string, lost bool, err error) {
	lost, err = r.etcd().remove(lockPrefix, clientv3.WithPrefix())
	return "", lost, err
}

// deleteBase deletes the base of tokens. The client that misses it makes another, which is no lower than what it knew.
func deleteBase(r *run, _ *rand.Rand) (name string, lost bool, err error) {
	_, err = r.etcd().remove("holdfast/base")
	return "", false, err
}

// revoke ends the lease of the client that holds a lock, and with it all its holds.
func revoke(r *run, random *rand.Rand) int {
	name := names[random.IntN(len(names))]
	var first *clientv3.GetResponse
	err := asked(func(ctx context.Context) (err error) {
		first, err = r.etcd().admin.Get(ctx, name+"/", clientv3.WithFirstCreate()...)
		return err
	})
	if err != nil {
		r.fail(err)
		return 0
	}
	if len(first.Kvs) == 0 {
		return 0
	}
	id, _, _ := strings.Cut(string(first.Kvs[0].Value), "\n")
	process := r.record.process(id)
	if process == "" {
		return 0 // it has held nothing yet
	}
	ctx, cancel := asking()
	defer cancel()
	from := stamp.Now()
	if _, err := r.etcd().admin.Revoke(ctx, clientv3.LeaseID(first.Kvs[0].Lease)); err != nil {
		return 0 // it was revoked a moment ago
	}
	r.record.lost(Loss{Of: process, From: from, Until: stamp.Now(), Certain: true})
	return 1
}
