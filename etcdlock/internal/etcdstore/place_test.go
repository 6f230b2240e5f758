package etcdstore

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

var errBroken = status.Error(codes.Unavailable, "the connection broke")

// releases releases an id, and returns whether it was there.
func releases(t *testing.T, l *Lock, id string) store.Status {
	t.Helper()
	reply, err := l.Release(within(t), id)
	require.NoError(t, err)
	return reply.Status
}

// A key is used by one id after the other, and by one at a time. When none has one, nothing is remembered of the name.
func TestKeysAreUsedAgain(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, _ := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "a").Status)
	first := keyOf(t, l, "a")
	require.Equal(t, store.Busy, asks(t, l, "b").Status)
	second := keyOf(t, l, "b")
	require.NotEqual(t, first, second)
	require.Equal(t, store.Done, releases(t, l, "a"))
	require.Equal(t, store.Held, asks(t, l, "b").Status)
	require.Equal(t, store.Busy, asks(t, l, "c").Status)
	require.Equal(t, []string{first, second}, []string{keyOf(t, l, "c"), keyOf(t, l, "b")})
	require.Equal(t, store.Gone, releases(t, l, "a"), "the key is another's")
	require.Equal(t, store.Busy, asks(t, l, "c").Status)
	require.Equal(t, store.Done, releases(t, l, "c"))
	one := store.Parting{Proto: l, ID: "b"}
	s.ReleaseEach(within(t), []*store.Parting{&one})
	require.Equal(t, store.Done, one.Reply.Status)
	require.Empty(t, s.sessions.current().places)
}

// What is certainly not in etcd has no key: a try that was refused, and a hold that is gone.
func TestKeysGoBack(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "held").Status)
	key := keyOf(t, l, "held")
	try := askOf("try")
	try.Once = true
	reply, _, err := l.Acquire(within(t), try)
	require.NoError(t, err)
	require.Equal(t, store.Busy, reply.Status)
	require.Len(t, s.sessions.current().places[name], 2)
	_, has := s.sessions.current().keyOf(l, "try")
	require.False(t, has)

	_, err = cli.Delete(within(t), key)
	require.NoError(t, err)
	one := []store.Renewal{{Proto: l, ID: "held", TTL: patience}}
	s.Renew(within(t), one)
	requireGone(t, one[0])
	require.Empty(t, s.sessions.current().places)
}

// While a copy of a request may come that would put a key, no other id has that key.
func TestAKeyInDoubtIsKept(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "doubted").Status)
	now, key := s.sessions.current(), keyOf(t, l, "doubted")
	_, n := now.take(l, "doubted", s.past.latest())
	now.landed(l, n, "doubted", "", 0, false, &store.Failure{Fault: store.FaultAmbiguous, Err: errBroken})
	gone, err := cli.Delete(within(t), key)
	require.NoError(t, err)
	s.left(now, l, "doubted", gone.Header.Revision)
	require.Equal(t, store.Held, asks(t, l, "a").Status)
	require.NotEqual(t, key, keyOf(t, l, "a"))
	require.Equal(t, store.Gone, releases(t, l, "doubted"))
	require.Equal(t, store.Busy, asks(t, l, "b").Status)
	require.Equal(t, key, keyOf(t, l, "b"))
}

// The caller of a request may leave, and its id be released while the request is on its way. The release seals the
// session then, and so the request puts nothing, and its key is another id's meanwhile.
func TestAReleaseOvertakesItsAcquisition(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(t *testing.T, l *Lock) store.Status{
		"by its holder": func(t *testing.T, l *Lock) store.Status { return releases(t, l, "id") },
		"by the ledger": func(t *testing.T, l *Lock) store.Status {
			one := store.Parting{Proto: l, ID: "id"}
			l.store.ReleaseEach(within(t), []*store.Parting{&one})
			require.NoError(t, one.Err)
			require.Zero(t, one.Again)
			return one.Reply.Status
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := servers.Key(t)
			s, cli := started(t, name+"-own/")
			l := s.Lock(name)
			require.Equal(t, store.Held, asks(t, l, "first").Status)
			now, at := s.sessions.current(), s.past.latest()
			key, n := now.take(l, "id", at)
			require.Equal(t, store.Gone, release(t, l))
			require.Equal(t, store.Busy, asks(t, l, "other").Status)
			require.Equal(t, key, keyOf(t, l, "other"), "the seal gave the key back")
			require.Equal(t, store.Done, releases(t, l, "other"))

			found, err := l.standAt(within(t), now, key, at, askOf("id"))
			require.NoError(t, err)
			require.True(t, found.refused(at, askOf("id")))
			require.False(t, now.renames(l, n, "id", found.at), "it is not asked for any more")
			now.landed(l, n, "id", l.has(found), found.at, false, nil)
			require.Equal(t, store.Done, releases(t, l, "first"))
			require.Empty(t, keysOf(t, cli, l))
			require.Empty(t, now.places)
		})
	}
}

// A key is given back when the last of the requests that may put it has ended.
func TestAKeyIsKeptForEachRequest(t *testing.T) {
	t.Parallel()
	now, l := &session{places: make(map[string][]place)}, New(nil, patience, "").Lock("name")
	_, n := now.take(l, "id", 0)
	_, again := now.take(l, "id", 0)
	require.Equal(t, n, again)
	now.landed(l, n, "id", "", 5, false, nil)
	_, has := now.keyOf(l, "id")
	require.True(t, has)
	now.landed(l, n, "id", "id", 6, false, nil)
	now.free(l, "id", 7, false)
	require.Empty(t, now.places)

	_, n = now.take(l, "id", 0)
	_, _ = now.take(l, "id", 0)
	now.landed(l, n, "id", "id", 8, false, nil)
	now.landed(l, n, "id", "", 0, false, &store.Failure{Fault: store.FaultTransient, Err: errBroken})
	_, has = now.keyOf(l, "id")
	require.True(t, has, "a refused request says nothing of what the other one put")
	now.free(l, "id", 1, true)
	require.Empty(t, now.places)

	_, n = now.take(l, "id", 0)
	now.free(l, "id", 1, true)
	_, next := now.take(l, "other", 0)
	require.Equal(t, n, next, "the seal gave the key back")
	now.landed(l, n, "id", "", 0, false, &store.Failure{Fault: store.FaultAmbiguous, Err: errBroken})
	now.landed(l, n, "other", "", 9, false, nil)
	require.Empty(t, now.places, "the doubt is that of the id, which is sealed")
}

// What says that a key is not there may be older than the key: a release came before its acquisition, and its answer
// after that one's.
func TestAnAnswerMayBeOlderThanItsKey(t *testing.T) {
	t.Parallel()
	now, l := &session{places: make(map[string][]place)}, New(nil, patience, "").Lock("name")
	_, n := now.take(l, "id", 0)
	_, _ = now.take(l, "id", 0)
	now.landed(l, n, "id", "id", 8, false, nil)
	now.landed(l, n, "id", "", 7, false, nil)
	now.free(l, "id", 7, false)
	_, has := now.keyOf(l, "id")
	require.True(t, has)
	now.free(l, "id", 8, false)
	require.Empty(t, now.places)
}

// A copy of an acquisition may come after the release of its hold, which has sealed the session. It puts nothing.
func TestAKeyWhoseAcquisitionArrivesLate(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	var arrive func() error
	first := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if arrive != nil || !strings.HasSuffix(method, "/Txn") {
			return send(ctx, method, req, reply, conn, opts...)
		}
		arrive = func() error { return send(within(t), method, req, reply, conn, opts...) }
		return errBroken
	}
	s, cli := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/", grpc.WithChainUnaryInterceptor(first))
	l := s.Lock(name)
	_, _, err := l.Acquire(within(t), askOf("id"))
	require.Equal(t, store.FaultAmbiguous, store.FaultOf(err))
	require.Equal(t, store.Held, asks(t, l, "id").Status)
	require.Equal(t, store.Done, releases(t, l, "id"))
	require.Empty(t, keysOf(t, cli, l))
	require.NoError(t, arrive())
	require.Empty(t, keysOf(t, cli, l))
	require.Empty(t, s.sessions.current().places)
}

// A key of this client's that etcd has with an id which the client does not know is nobody's: it is deleted, and told.
// (defect G25)
func TestAKeyThatHasAnotherID(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	now, err := s.session(within(t))
	require.NoError(t, err)
	_, err = cli.Put(within(t), now.keyAt(l, 0), valueOf("other", nil), clientv3.WithLease(now.id))
	require.NoError(t, err)
	ask := askOf("id")
	_, _, err = l.Acquire(within(t), ask)
	require.ErrorIs(t, err, errTaken)
	require.Equal(t, store.FaultTransient, store.FaultOf(err))
	require.Empty(t, keysOf(t, cli, l))
	require.Equal(t, store.Held, asks(t, l, "id").Status)
	require.NoError(t, renew(t, s, l).Err)
	_, err = cli.Put(within(t), keyOf(t, l, "id"), valueOf("another", nil), clientv3.WithLease(now.id))
	require.NoError(t, err)
	requireGone(t, renew(t, s, l))
	require.Empty(t, keysOf(t, cli, l))
}

// A release ends the hold of its id, whatever is noted of it, and of no other that begins alike.
func TestAnIDIsCompared(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	for value, same := range map[string]bool{
		valueOf("id:1", nil): true, valueOf("id:1", []byte(`{"text":"x"}`)): true, valueOf("id:1", []byte{0xff}): true,
		valueOf("id:", nil): false, valueOf("id:10", nil): false, valueOf("id:0", nil): false, "": false, "id:1": false,
		valueOf("id:2", nil): false,
	} {
		_, err := cli.Put(within(t), l.prefix+"key", value)
		require.NoError(t, err)
		reply, err := cli.Txn(within(t)).If(stands(l.prefix+"key", "id:1")...).Commit()
		require.NoError(t, err)
		require.Equal(t, same, reply.Succeeded, "%q", value)
	}
	reply, err := cli.Txn(within(t)).If(stands(l.prefix+"absent", "id:1")...).Commit()
	require.NoError(t, err)
	require.False(t, reply.Succeeded)
}

// A key that was put under a lease which is over by the client's clock, and that cannot be revoked, may stand: the caller
// is told that, and releases it when the time comes.
func TestAnAcquisitionUnderALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	var s *Store
	cut := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if strings.HasSuffix(method, "/LeaseRevoke") {
			return errBroken
		}
		err := send(ctx, method, req, reply, conn, opts...)
		if strings.HasSuffix(method, "/Txn") {
			now := s.sessions.current()
			since, _ := now.valid()
			now.confirm(0, since+s.lease, s.lease, 0) // its time passes while the answer is on its way
		}
		return err
	}
	s, cli := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/", grpc.WithChainUnaryInterceptor(cut))
	l := s.Lock(name)
	ask := askOf("id")
	_, receipt, err := l.Acquire(within(t), ask)
	require.ErrorIs(t, err, errOver)
	require.Equal(t, store.FaultAmbiguous, store.FaultOf(err))
	require.Equal(t, copies, receipt.Late)
	require.Len(t, keysOf(t, cli, l), 1)
	one := store.Parting{Proto: l, ID: "id", Late: receipt.Late}
	s.ReleaseEach(within(t), []*store.Parting{&one})
	require.NoError(t, one.Err)
	require.Equal(t, store.Done, one.Reply.Status)
	require.Empty(t, keysOf(t, cli, l))
}
