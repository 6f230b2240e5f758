package etcdstore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// doubts has the present session think that a request of an id had no answer.
func doubts(t *testing.T, l *Lock, id string) {
	t.Helper()
	now := l.store.sessions.current()
	_, n := now.take(l, id, l.store.past.latest())
	now.landed(l, n, id, "", 0, false, &store.Failure{Fault: store.FaultAmbiguous, Err: errBroken})
}

// sealsOf are the seals below a store's own keys.
func sealsOf(t *testing.T, cli *clientv3.Client, s *Store) []string {
	t.Helper()
	got, err := cli.Get(within(t), s.own+"sealed/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	var keys []string
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// What is released together may have one id, as the locks of a set. A copy of a request for any of them finds the seal.
func TestReleasesOfOneID(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	var all []*store.Parting
	var keys []string
	_, err := s.session(within(t))
	require.NoError(t, err)
	at := s.past.latest()
	for i := range 3 {
		l := s.Lock(fmt.Sprint(name, i))
		require.Equal(t, store.Held, asks(t, l, "id").Status)
		doubts(t, l, "id")
		keys = append(keys, keyOf(t, l, "id"))
		all = append(all, &store.Parting{Proto: l, ID: "id", Late: copies})
	}
	s.ReleaseEach(within(t), all)
	now := s.sessions.current()
	for i, one := range all {
		require.NoError(t, one.Err)
		require.Equal(t, store.Done, one.Reply.Status)
		l := one.Proto.(*Lock)
		found, err := l.standAt(within(t), now, keys[i], at, askOf("id"))
		require.NoError(t, err)
		require.True(t, found.refused(at, askOf("id")), "a copy finds the seal")
		require.Empty(t, keysOf(t, cli, l))
	}
	require.Equal(t, []string{s.sealKey(now)}, sealsOf(t, cli, s))
	require.Empty(t, now.places)
}

// However many ids are given up, they leave one key. An id whose requests were all answered leaves none. (defect
// G29)
func TestSealsDoNotGather(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	for i := range 200 {
		id := fmt.Sprint("id", i)
		require.Equal(t, store.Held, asks(t, l, id).Status)
		require.Equal(t, store.Busy, asks(t, l, id+"-waits").Status)
		waits := &store.Parting{Proto: l, ID: id + "-waits", Late: copies}
		s.ReleaseEach(within(t), []*store.Parting{waits})
		require.NoError(t, waits.Err)
		require.Equal(t, store.Done, waits.Reply.Status)
		if i < 100 {
			require.Equal(t, store.Done, releases(t, l, id))
			continue
		}
		require.Equal(t, i > 100, len(sealsOf(t, cli, s)) > 0)
		doubts(t, l, id)
		require.Equal(t, store.Done, releases(t, l, id))
	}
	now := s.sessions.current()
	left, err := cli.TimeToLive(within(t), now.id, clientv3.WithAttachedKeys())
	require.NoError(t, err)
	require.Len(t, left.Keys, 1)
	require.Equal(t, s.sealKey(now), string(left.Keys[0]))
	require.Empty(t, now.places)
}

// An acquisition that is refused only because another id was given up meanwhile is sent again.
func TestASealForAnotherID(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, _ := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "first").Status)
	require.Equal(t, store.Done, releases(t, l, "first"))
	now := s.sessions.current()
	s.past.mu.Lock()
	before := s.past.revision
	s.past.mu.Unlock()
	doubts(t, l, "doubted")
	require.Equal(t, store.Gone, releases(t, l, "doubted"))
	s.past.mu.Lock()
	s.past.revision = before // as if the answer had not come yet
	s.past.mu.Unlock()
	try := askOf("try")
	try.Once = true
	reply, _, err := l.Acquire(within(t), try)
	require.NoError(t, err)
	require.Equal(t, store.Held, reply.Status)
	require.Equal(t, store.Done, releases(t, l, "try"))
	require.Empty(t, now.places)
}

// A seal that etcd has written at a revision below one that a request has named, as where it went back to a snapshot
// meanwhile, refuses no copy of that: the id is released once more.
func TestASealBelowWhatWasNamed(t *testing.T) {
	t.Parallel()
	now, l := &session{places: make(map[string][]place)}, New(nil, patience, "").Lock("name")
	_, n := now.take(l, "id", 7)
	now.landed(l, n, "id", "", 0, false, &store.Failure{Fault: store.FaultAmbiguous, Err: errBroken})
	require.False(t, now.free(l, "id", 7, true))
	_, copied, has := now.leaves(l, "id")
	require.True(t, copied && has)
	require.True(t, now.free(l, "id", 8, true))
	require.Empty(t, now.places)
}
