package etcdstore

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	grants "github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/watchdog"
)

// renew sends one renewal of the hold "id".
func renew(t *testing.T, s *Store, l *Lock) store.Renewal {
	t.Helper()
	all := []store.Renewal{{Proto: l, ID: "id", TTL: patience}}
	s.Renew(within(t), all)
	return all[0]
}

func requireGone(t *testing.T, one store.Renewal) {
	t.Helper()
	require.ErrorIs(t, one.Err, watchdog.ErrGone)
}

// age makes the last confirmation of the present session as old as that.
func age(s *Store, old time.Duration) {
	now := s.sessions.current()
	now.mu.Lock()
	defer now.mu.Unlock()
	now.since = s.host.Clock.Now() - old
}

// A lease counts from the sending of the request that began it or kept it alive, however long the answer takes. So does
// what is acquired or renewed under it.
func TestALeaseCountsFromTheSending(t *testing.T) {
	t.Parallel()
	const latency = 200 * time.Millisecond
	path, name := tcpproxy.Start(t, etcdtest.Shared(t).Addr()), servers.Key(t)
	path.Latency(latency)
	s, _ := startedAt(t, "http://"+path.Addr(), name+"-own/")
	counts := func(since time.Duration) {
		t.Helper()
		require.GreaterOrEqual(t, s.host.Clock.Now()-since, 2*latency)
	}
	for range 2 { // by a grant, and by a keep-alive
		now, err := s.session(within(t))
		require.NoError(t, err)
		if !s.proven(now) {
			require.NoError(t, s.keepAlive(within(t), now))
		}
		since, ok := now.valid()
		require.True(t, ok)
		counts(since)
		age(s, s.lease/2)
	}
	reply, receipt, err := s.Lock(name).Acquire(within(t), askOf("id"))
	require.NoError(t, err)
	require.Equal(t, store.Held, reply.Status)
	since, _ := s.sessions.current().valid()
	require.Equal(t, since, receipt.Since)
	counts(since)
}

// A renewal that a former keep-alive serves is worth as much less as that was sent earlier.
func TestARenewalByAnEarlierKeepAlive(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, _ := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "id").Status)
	since, _ := s.sessions.current().valid()
	began := s.host.Clock.Now()
	one := renew(t, s, l)
	require.NoError(t, one.Err)
	now, _ := s.sessions.current().valid()
	require.LessOrEqual(t, one.TTL, patience-(began-max(since, now)))
	require.Less(t, one.TTL, patience)
}

// A hold whose lease is shorter than that of its client, under which its key hangs, counts from its own acquisition and
// renewal, and not from a keep-alive of before. It is never valid for longer than a hold with the client's lease.
func TestALeaseThatIsShorter(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, _ := started(t, name+"-own/")
	for i, lease := range []time.Duration{LeastLease, patience - time.Second, patience} {
		l := s.Lock(name + strconv.Itoa(i))
		_, err := s.session(within(t))
		require.NoError(t, err)
		age(s, s.fresh()/2)
		since, _ := s.sessions.current().valid()
		began := s.host.Clock.Now()
		ask := askOf("id")
		ask.Lease = lease
		reply, receipt, err := l.Acquire(within(t), ask)
		require.NoError(t, err)
		require.Equal(t, store.Held, reply.Status)
		one := []store.Renewal{{Proto: l, ID: "id", TTL: lease}}
		s.Renew(within(t), one)
		require.NoError(t, one[0].Err)
		confirmed, _ := s.sessions.current().valid()
		require.Equal(t, since, confirmed, "no keep-alive was needed")
		ends := grants.ValidUntil(since, s.lease)
		if lease == LeastLease {
			require.GreaterOrEqual(t, receipt.Since, began)
			require.Equal(t, lease, one[0].TTL)
		}
		require.GreaterOrEqual(t, receipt.Since, since)
		require.LessOrEqual(t, grants.ValidUntil(receipt.Since, lease), ends)
		require.LessOrEqual(t, one[0].TTL, lease)
	}
}

// When the lease is over, so are all holds, and the client goes on under another one: because etcd says so, or because
// nothing has confirmed the lease for that long. Then etcd may still answer that it stands, and revoke it all the same.
func TestALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	revoke := func(now *session) {
		_, err := cli.Revoke(within(t), now.id)
		require.NoError(t, err)
	}
	for _, ends := range []func(*session){
		revoke,
		func(now *session) { revoke(now); require.ErrorIs(t, s.keepAlive(within(t), now), errOver) },
		func(now *session) { revoke(now); age(s, s.lease/2); requireGone(t, renew(t, s, l)) },
		func(now *session) { revoke(now); requireGone(t, renew(t, s, l)) },
		func(now *session) { age(s, s.lease); require.ErrorIs(t, s.keepAlive(within(t), now), errOver) },
		func(now *session) { age(s, s.lease); requireGone(t, renew(t, s, l)) },
		func(*session) { age(s, s.lease) },
	} {
		require.Equal(t, store.Held, asks(t, l, "id").Status)
		old := s.sessions.current()
		ends(old)
		require.Equal(t, store.Held, asks(t, l, "next").Status)
		require.NotEqual(t, old.id, s.sessions.current().id)
		left, err := cli.TimeToLive(within(t), old.id)
		require.NoError(t, err)
		require.Negative(t, left.TTL)
		requireGone(t, renew(t, s, l))
		_, err = l.Release(within(t), "next")
		require.NoError(t, err)
	}
}
