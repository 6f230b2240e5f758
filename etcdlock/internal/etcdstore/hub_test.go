package etcdstore

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// A waiter hears of every deletion since it looked that may make the lock its own, or costs it its place: the watch
// begins where the look was, even if etcd has forgotten what happened since.
func TestAWaiterHears(t *testing.T) {
	t.Parallel()
	type lab struct {
		cli    *clientv3.Client
		lock   *Lock
		keys   map[string]string // of ids
		looked standing          // of "waiter"
	}
	remove := func(t *testing.T, l lab, id string) int64 {
		reply, err := l.cli.Delete(within(t), l.keys[id])
		require.NoError(t, err)
		require.EqualValues(t, 1, reply.Deleted)
		return reply.Header.Revision
	}
	told := func(t *testing.T, l lab) {
		reply, err := l.lock.answer(within(t), l.looked, l.lock.store.sessions.current(), &store.Ask{ID: "waiter"})
		require.NoError(t, err)
		require.Equal(t, store.Busy, reply.Status)
	}
	for what, happens := range map[string]func(t *testing.T, l lab){
		"the one before leaves":  func(t *testing.T, l lab) { told(t, l); remove(t, l, "before") },
		"its own key is deleted": func(t *testing.T, l lab) { told(t, l); remove(t, l, "waiter") },
		"before the watch":       func(t *testing.T, l lab) { remove(t, l, "before"); told(t, l) },
		"before, and was compacted": func(t *testing.T, l lab) {
			at := remove(t, l, "before")
			_, err := l.cli.Put(within(t), l.lock.name+"-other", "")
			require.NoError(t, err)
			_, err = l.cli.Compact(within(t), at+1)
			require.NoError(t, err)
			told(t, l)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := servers.Key(t)
			endpoint := etcdtest.Start(t).Endpoint()
			s, cli := startedAt(t, endpoint, name+"-own/")
			other, _ := startedAt(t, endpoint, name+"-own/") // another client, of which this one watches nothing
			l, theirs := s.Lock(name), other.Lock(name)
			require.Equal(t, store.Held, asks(t, theirs, "first").Status)
			require.Equal(t, store.Busy, asks(t, theirs, "before").Status)
			now, err := s.session(within(t))
			require.NoError(t, err)
			looked, err := l.stand(within(t), now, &store.Ask{ID: "waiter", Lease: patience})
			require.NoError(t, err)
			keys := map[string]string{"before": keyOf(t, theirs, "before"), "waiter": keyOf(t, l, "waiter")}
			require.Equal(t, keys["before"], string(looked.before.Key))
			ticket := s.Listen(l.Channel(), l.Key())
			defer ticket.Leave()
			happens(t, lab{cli, l, keys, looked})
			servers.Receive(t, patience/3, ticket.C(), "the waiter is woken")
		})
	}
}
