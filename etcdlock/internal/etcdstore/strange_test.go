package etcdstore

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// A sweep deletes the keys of locks that hang on the client's lease without a hold, and no other key that an operator has
// put there. (defect G25)
func TestASweepDeletesKeysOfLocksOnly(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	require.Equal(t, store.Held, asks(t, s.Lock(name), "id").Status)
	now := s.sessions.current()
	for _, key := range []string{name + "-ghost/1", name + "-plain"} {
		_, err := cli.Put(within(t), key, "x", clientv3.WithLease(now.id))
		require.NoError(t, err)
	}
	require.NoError(t, s.sweep(now))
	got, err := cli.Get(within(t), name, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	var keys []string
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	require.Contains(t, keys, name+"-plain")
	require.Contains(t, keys, keyOf(t, s.Lock(name), "id"))
	require.NotContains(t, keys, name+"-ghost/1")
}
