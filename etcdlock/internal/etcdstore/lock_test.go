package etcdstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// keysOf returns the keys below a lock's name, in their order.
func keysOf(t *testing.T, cli *clientv3.Client, l *Lock) (keys []string) {
	t.Helper()
	got, err := cli.Get(within(t), l.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	for _, kv := range got.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys
}

// keyOf returns the key that an id has in the present session.
func keyOf(t *testing.T, l *Lock, id string) string {
	t.Helper()
	key, has := l.store.sessions.current().keyOf(l, id)
	require.True(t, has, id)
	return key
}

// The caller that came first holds the lock, whatever the keys are called, and the next one when it has left.
func TestTheFirstHolds(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, _ := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "z").Status)
	require.Equal(t, store.Busy, asks(t, l, "a").Status)
	require.Equal(t, store.Busy, asks(t, l, "m").Status)
	reply, err := l.Release(within(t), "z")
	require.NoError(t, err)
	require.Equal(t, store.ReleaseReply{Status: store.Done}, reply)
	require.Equal(t, store.Busy, asks(t, l, "m").Status)
	require.Equal(t, store.Busy, asks(t, l, "b").Status, "with the key of z, which is before the others")
	require.Equal(t, store.Held, asks(t, l, "a").Status)
}

// etcd 3.7 does not say the lease of a key that is read without its value. A lock that is held, free or asked for again
// is told from a key of something else all the same.
func TestAKeyThatIsReadAloneHasNoLease(t *testing.T) {
	t.Parallel()
	alone := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		err := send(ctx, method, req, reply, conn, opts...)
		txn, is := req.(*pb.TxnRequest)
		if !is || err != nil {
			return err
		}
		ops := txn.Success
		if !reply.(*pb.TxnResponse).Succeeded {
			ops = txn.Failure
		}
		for i, answer := range reply.(*pb.TxnResponse).Responses {
			if !ops[i].GetRequestRange().GetKeysOnly() {
				continue
			}
			for _, kv := range answer.GetResponseRange().GetKvs() {
				kv.Lease = 0
			}
		}
		return nil
	}
	name := servers.Key(t)
	s, _ := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/", grpc.WithChainUnaryInterceptor(alone))
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "a").Status)
	require.Equal(t, store.Busy, asks(t, l, "b").Status)
	require.Equal(t, store.Busy, asks(t, l, "b").Status, "by looking at its key")
	require.Equal(t, store.Done, releases(t, l, "a"))
	require.Equal(t, store.Held, asks(t, l, "b").Status)
}

// A try that is refused leaves no key that would stand in the way of others.
func TestATryLeavesNothing(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "holder").Status)
	for range 2 {
		reply, _, err := l.Acquire(within(t), &store.Ask{
			ID: "try", Lease: patience, Once: true, Timing: store.Timing{Within: patience},
		})
		require.NoError(t, err)
		require.Equal(t, store.Busy, reply.Status)
		require.Equal(t, []string{keyOf(t, l, "holder")}, keysOf(t, cli, l))
	}
}

// When a try has put its key, and etcd refuses something else that the hold needs, nothing proves the hold, and the key
// may stand: the error says so, whatever became of the request that it answers. Where no repetition can help, the key is
// gone when the error is told.
func TestAKeyWhoseHoldIsRefused(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]struct {
		base  bool // else the keep-alive
		err   error
		means store.Fault
	}{
		"keep-alive, by a server without a leader": {false, rpctypes.ErrGRPCNoLeader, store.FaultAmbiguous},
		"keep-alive, by a server that is busy":     {false, rpctypes.ErrGRPCRequestTooManyRequests, store.FaultAmbiguous},
		"keep-alive, for good":                     {false, rpctypes.ErrGRPCTooManyOps, store.FaultDefinite},
		"base, by a server without a leader":       {true, rpctypes.ErrGRPCNoLeader, store.FaultAmbiguous},
		"base, as there is no space":               {true, rpctypes.ErrGRPCNoSpace, store.FaultDefinite},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := servers.Key(t)
			var refuses atomic.Bool
			stream := func(
				ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
				opts ...grpc.CallOption,
			) (grpc.ClientStream, error) {
				if refuses.Load() && !refused.base {
					return nil, refused.err
				}
				return open(ctx, desc, conn, method, opts...)
			}
			unary := func(
				ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
				opts ...grpc.CallOption,
			) error {
				txn, is := req.(*pb.TxnRequest)
				if is && refuses.Load() && refused.base && len(txn.Success) > 0 {
					if put := txn.Success[0].GetRequestPut(); put != nil && put.Lease == 0 {
						return refused.err
					}
				}
				return send(ctx, method, req, reply, conn, opts...)
			}
			s, cli := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/",
				grpc.WithChainStreamInterceptor(stream), grpc.WithChainUnaryInterceptor(unary))
			l := s.Lock(name)
			_, err := s.session(within(t))
			require.NoError(t, err)
			age(s, s.lease/2)
			refuses.Store(true)
			_, receipt, err := l.Acquire(within(t), &store.Ask{
				ID: "try", Lease: patience, Once: true, Timing: store.Timing{Within: patience},
			})
			require.ErrorContains(t, err, status.Convert(refused.err).Message())
			require.Equal(t, refused.means, store.FaultOf(err))
			if refused.means == store.FaultAmbiguous {
				require.Equal(t, copies, receipt.Late)
				require.Len(t, keysOf(t, cli, l), 1)
			} else {
				require.Empty(t, keysOf(t, cli, l))
			}
			one := store.Parting{Proto: l, ID: "try", Late: copies}
			s.ReleaseEach(within(t), []*store.Parting{&one})
			require.NoError(t, one.Err)
			require.Empty(t, keysOf(t, cli, l))
		})
	}
}

// A release ends the hold that it names, and tells whether it was there.
func TestAReleaseNamesItsHold(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "holder").Status)
	require.Equal(t, store.Busy, asks(t, l, "waiter").Status)
	both := []string{keyOf(t, l, "holder"), keyOf(t, l, "waiter")}
	reply, err := l.Release(within(t), "nobody")
	require.NoError(t, err)
	require.Equal(t, store.Gone, reply.Status)
	require.Equal(t, both, keysOf(t, cli, l))

	all := []*store.Parting{{Proto: l, ID: "nobody"}, {Proto: l, ID: "waiter", Late: copies}}
	s.ReleaseEach(within(t), all)
	require.NoError(t, all[0].Err)
	require.Equal(t, store.Gone, all[0].Reply.Status)
	require.Equal(t, store.Done, all[1].Reply.Status)
	require.Equal(t, both[:1], keysOf(t, cli, l))
}

// A release is carried out when the lease is over on which a seal of it would hang.
func TestAReleaseUnderALeaseThatIsOver(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "holder").Status)
	doubts(t, l, "holder")
	old := s.sessions.current()
	_, err := cli.Revoke(within(t), old.id)
	require.NoError(t, err)
	one := store.Parting{Proto: l, ID: "holder", Late: copies}
	s.ReleaseEach(within(t), []*store.Parting{&one})
	require.NoError(t, one.Err)
	require.Equal(t, store.Gone, one.Reply.Status)
	require.Equal(t, store.Held, asks(t, l, "next").Status)
	require.NotEqual(t, old.id, s.sessions.current().id)
}

// A first key that is no lock's, or that of a lock below the name, is no holder who will leave.
func TestAKeyThatNeverLeaves(t *testing.T) {
	t.Parallel()
	for what, key := range map[string]struct {
		id    string
		lease time.Duration
	}{"without a lease": {"setting", 0}, "of a lock below": {"below/id", patience}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name := servers.Key(t)
			s, cli := started(t, name+"-own/")
			l := s.Lock(name)
			var on []clientv3.OpOption
			if key.lease > 0 {
				lease, err := cli.Grant(within(t), int64(key.lease/time.Second))
				require.NoError(t, err)
				on = append(on, clientv3.WithLease(lease.ID))
			}
			_, err := cli.Put(within(t), l.prefix+key.id, "", on...)
			require.NoError(t, err)
			_, _, err = l.Acquire(within(t), askOf("id"))
			require.ErrorIs(t, err, store.ErrConflict)
		})
	}
}

// A key that does not hang on the client's lease is no hold of the client: it would outlive it, or end before.
func TestAKeyOnAnotherLease(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	other, err := cli.Grant(within(t), int64(patience/time.Second))
	require.NoError(t, err)
	asked, renewed := s.Lock(name+"-asked"), s.Lock(name+"-renewed")
	now, err := s.session(within(t))
	require.NoError(t, err)
	_, err = cli.Put(within(t), now.keyAt(asked, 0), valueOf("id", nil), clientv3.WithLease(other.ID))
	require.NoError(t, err)
	_, _, err = asked.Acquire(within(t), askOf("id"))
	require.ErrorIs(t, err, errOver)

	require.Equal(t, store.Held, asks(t, renewed, "id").Status)
	require.NoError(t, renew(t, s, renewed).Err)
	for _, which := range [][]clientv3.OpOption{nil, {clientv3.WithLease(other.ID)}} {
		_, err := cli.Put(within(t), now.keyAt(renewed, 0), valueOf("id", nil), which...)
		require.NoError(t, err)
		requireGone(t, renew(t, s, renewed))
	}
}

// A note is that of the newest turn, and does not take its key from the lease.
func TestNotes(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "id").Status)
	for _, step := range []struct {
		fence int64
		want  store.Status
		said  string
	}{{5, store.Done, "first"}, {7, store.Done, "second"}, {6, store.Busy, "second"}, {7, store.Done, "third"}} {
		status, err := l.Note(within(t), store.Note{ID: "id", Fence: step.fence, Text: step.said}, false)
		require.NoError(t, err)
		require.Equal(t, step.want, status)
		noted, err := l.Noted(within(t))
		require.NoError(t, err)
		require.Equal(t, step.said, noted.Text)
	}
	got, err := cli.Get(within(t), keyOf(t, l, "id"))
	require.NoError(t, err)
	require.Equal(t, s.sessions.current().id, clientv3.LeaseID(got.Kvs[0].Lease))
}
