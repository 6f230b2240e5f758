package etcdstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// What is released together may have one id, as the locks of a set, and is sealed once.
func TestReleasesOfOneID(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	var all []*store.Parting
	for i := range 3 {
		l := s.Lock(fmt.Sprint(name, i))
		require.Equal(t, store.Held, asks(t, l, "id").Status)
		all = append(all, &store.Parting{Proto: l, ID: "id", Late: copies})
	}
	s.ReleaseEach(within(t), all)
	for _, one := range all {
		require.NoError(t, one.Err)
		require.Equal(t, store.Done, one.Reply.Status)
		require.Equal(t, store.Busy, asks(t, one.Proto.(*Lock), "id").Status, "a copy finds the seal")
	}
	got, err := cli.Get(within(t), s.sealKey(""), clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	require.Len(t, got.Kvs, 1)
	require.Equal(t, s.sealKey("id"), string(got.Kvs[0].Key))
	for _, one := range all {
		require.Empty(t, keysOf(t, cli, one.Proto.(*Lock)))
	}
}

// A session forgets its oldest seals, and none that is still in etcd.
func TestOldSealsAreForgotten(t *testing.T) {
	t.Parallel()
	var s session
	var made []seal
	for i := range mostSeals + 5 {
		made = append(made, seal{fmt.Sprint(i), time.Duration(i) * time.Second})
	}
	s.keep(nil, made[:mostSeals])
	require.Empty(t, s.outdated(24*time.Hour))
	s.keep(nil, made[mostSeals:])
	require.Empty(t, s.outdated(sealLife-1))
	require.Equal(t, made[:2], s.outdated(sealLife+time.Second))
	old := s.outdated(24 * time.Hour)
	require.Equal(t, made[2:5], old)
	require.Empty(t, s.outdated(24*time.Hour))
	s.keep(old, nil) // they could not be deleted
	require.Equal(t, old, s.outdated(24*time.Hour))
}
