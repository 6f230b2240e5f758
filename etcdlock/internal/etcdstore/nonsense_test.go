package etcdstore

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/watchdog"
)

// What etcd does not answer is an error that says nothing about what was done: no hold comes of it, none is gone by it,
// and the process goes on.
func TestAnswersThatEtcdDoesNotGive(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(reply *pb.TxnResponse){
		"no header":    func(reply *pb.TxnResponse) { reply.Header = nil },
		"no responses": func(reply *pb.TxnResponse) { reply.Responses = nil },
		"one too few":  func(reply *pb.TxnResponse) { reply.Responses = reply.Responses[1:] },
		"one too many": func(reply *pb.TxnResponse) { reply.Responses = append(reply.Responses, &pb.ResponseOp{}) },
		"of no kind": func(reply *pb.TxnResponse) {
			for i := range reply.Responses {
				reply.Responses[i] = &pb.ResponseOp{}
			}
		},
		"of another kind": func(reply *pb.TxnResponse) {
			for i := range reply.Responses {
				reply.Responses[i] = &pb.ResponseOp{Response: &pb.ResponseOp_ResponseDeleteRange{}}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, errs := spoiled(t, spoil)
			for of, err := range errs {
				require.Equal(t, store.FaultAmbiguous, store.FaultOf(err), "%s: %v", of, err)
				require.NotErrorIs(t, err, watchdog.ErrGone)
			}
			require.Len(t, errs, 7)
			require.Equal(t, store.Held, asks(t, l, "holder").Status, "it stands as before")
		})
	}
}

// Keys and values of answers can be anything.
func TestKeysThatEtcdDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"empty": "", "short": "x", "another's": "another/name/below"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, errs := spoiled(t, func(reply *pb.TxnResponse) {
				for _, r := range reply.Responses {
					for _, kv := range r.GetResponseRange().GetKvs() {
						kv.Key, kv.Value = []byte(key), []byte(key)
					}
					if found := r.GetResponseRange(); found != nil {
						found.More = true
					}
				}
			})
			require.Error(t, errs["list"])
		})
	}
}

// A caller that has a key, where the answer says that nobody has one, does not have the lock, and asks again.
func TestAnAnswerInWhichNobodyIsFirst(t *testing.T) {
	t.Parallel()
	l, errs := spoiled(t, func(reply *pb.TxnResponse) {
		if len(reply.Responses) > 1 {
			if first := reply.Responses[1].GetResponseRange(); first != nil {
				first.Kvs = nil
			}
		}
	})
	require.NoError(t, errs["acquire"])
	require.Equal(t, store.Held, asks(t, l, "holder").Status, "it stands as before")
}

// spoiled is what requests end with whose answers are spoiled, of a lock that "holder" has.
func spoiled(t *testing.T, spoil func(reply *pb.TxnResponse)) (l *Lock, errs map[string]error) {
	t.Helper()
	var spoils atomic.Bool
	between := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		err := send(ctx, method, req, reply, conn, opts...)
		if answer, is := reply.(*pb.TxnResponse); is && err == nil && spoils.Load() {
			spoil(answer)
		}
		return err
	}
	name := servers.Key(t)
	s, _ := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/", grpc.WithChainUnaryInterceptor(between))
	l = s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "holder").Status)
	errs = make(map[string]error)
	spoils.Store(true)
	defer spoils.Store(false)
	waits, _, err := l.Acquire(within(t), askOf("waiter"))
	require.NotEqual(t, store.Held, waits.Status)
	errs["acquire"] = err
	once := askOf("try")
	once.Once = true
	_, _, errs["try"] = l.Acquire(within(t), once)
	renewal := []store.Renewal{{Proto: l, ID: "holder", TTL: patience}}
	s.Renew(within(t), renewal)
	errs["renew"] = renewal[0].Err
	_, errs["inspect"] = l.Inspect(within(t))
	_, errs["note"] = l.Note(within(t), store.Note{ID: "holder", Fence: 1, Text: "x"}, false)
	errs["list"] = s.List(within(t), name, func() context.Context { return within(t) }, func(Row) bool { return true })
	doubts(t, l, "late")
	parting := []*store.Parting{{Proto: l, ID: "late", Late: 1}}
	s.ReleaseEach(within(t), parting)
	errs["release"] = parting[0].Err
	return l, errs
}

// A keep-alive that is answered for another lease, or with less than the lease's full time, proves nothing.
func TestAKeepAliveThatProvesTooLittle(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(reply *pb.LeaseKeepAliveResponse){
		"another lease": func(reply *pb.LeaseKeepAliveResponse) { reply.ID++ },
		"shorter":       func(reply *pb.LeaseKeepAliveResponse) { reply.TTL-- },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var spoils atomic.Bool
			between := func(
				ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
				opts ...grpc.CallOption,
			) (grpc.ClientStream, error) {
				stream, err := open(ctx, desc, conn, method, opts...)
				return &spoiledStream{stream, func(reply *pb.LeaseKeepAliveResponse) {
					if spoils.Load() {
						spoil(reply)
					}
				}}, err
			}
			key := servers.Key(t)
			s, _ := startedAt(t, etcdtest.Shared(t).Endpoint(), key+"-own/", grpc.WithChainStreamInterceptor(between))
			require.Equal(t, store.Held, asks(t, s.Lock(key), "holder").Status)
			now := s.sessions.current()
			ctx := s.Within(within(t), patience)
			require.NoError(t, s.keepAlive(ctx, now))
			since, _ := now.valid()
			spoils.Store(true)
			require.Equal(t, store.FaultAmbiguous, store.FaultOf(s.keepAlive(ctx, now)))
			after, valid := now.valid()
			require.True(t, valid)
			require.Equal(t, since, after)
			spoils.Store(false)
			require.NoError(t, s.keepAlive(ctx, now))
			after, _ = now.valid()
			require.Greater(t, after, since)
		})
	}
}

type spoiledStream struct {
	grpc.ClientStream
	spoil func(reply *pb.LeaseKeepAliveResponse)
}

func (s *spoiledStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if reply, is := m.(*pb.LeaseKeepAliveResponse); is && err == nil {
		s.spoil(reply)
	}
	return err
}
