package etcdstore

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// half is half of the time of the requests in these tests.
const half = 5 * time.Second

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(within(t), 2*half)
	t.Cleanup(cancel)
	return ctx
}

// silences is an interceptor under which the next transaction has no answer, once armed: it is carried out at once, or
// when arrive is called.
type silences struct {
	armed, first atomic.Bool
	arrive       chan func() error
}

func (s *silences) unary(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if !strings.HasSuffix(method, "/Txn") || !s.armed.CompareAndSwap(true, false) {
		return send(ctx, method, req, reply, conn, opts...)
	}
	if s.first.Load() {
		if err := send(ctx, method, req, reply, conn, opts...); err != nil {
			return err
		}
	} else {
		apart := context.WithoutCancel(ctx)
		s.arrive <- func() error { return send(apart, method, req, reply, conn, opts...) }
	}
	<-ctx.Done()
	return ctx.Err()
}

// An acquisition without an answer is sent by another connection, and takes one hold. The first copy may come when that
// was released: it takes nothing. (defect G3)
func TestAnAcquisitionThatIsSentTwice(t *testing.T) {
	t.Parallel()
	name, silent := servers.Key(t), &silences{arrive: make(chan func() error, 1)}
	s, cli := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/", grpc.WithChainUnaryInterceptor(silent.unary))
	l := s.Lock(name)
	_, err := s.session(within(t))
	require.NoError(t, err)
	for _, first := range []bool{true, false} {
		silent.first.Store(first)
		silent.armed.Store(true)
		ask := askOf("id")
		ask.Once, ask.Within = true, 2*half
		reply, _, err := l.Acquire(within(t), ask)
		require.NoError(t, err)
		require.Equal(t, store.Held, reply.Status)
		require.NotNil(t, s.routes.own)
		require.Len(t, keysOf(t, cli, l), 1)
		require.Equal(t, store.Done, releases(t, l, "id"))
		require.Empty(t, s.sessions.current().places)
		s.routes.leave(s.routes.own)
	}
	require.NoError(t, (<-silent.arrive)())
	require.Empty(t, keysOf(t, cli, l))
	require.Len(t, sealsOf(t, cli, s), 1)
}

// A release that was carried out, and whose answer is lost, is told as done by its second copy, which finds nothing.
// (defect G3)
func TestAReleaseThatIsSentTwice(t *testing.T) {
	t.Parallel()
	for what, release := range map[string]func(l *Lock) (store.Status, error){
		"by its holder": func(l *Lock) (store.Status, error) {
			reply, err := l.Release(soon(t), "id")
			return reply.Status, err
		},
		"by the ledger": func(l *Lock) (store.Status, error) {
			one := &store.Parting{Proto: l, ID: "id"}
			l.store.ReleaseEach(soon(t), []*store.Parting{one})
			return one.Reply.Status, one.Err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			name, silent := servers.Key(t), &silences{}
			s, _ := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/",
				grpc.WithChainUnaryInterceptor(silent.unary))
			l := s.Lock(name)
			require.Equal(t, store.Held, asks(t, l, "id").Status)
			silent.first.Store(true)
			silent.armed.Store(true)
			status, err := release(l)
			require.NoError(t, err)
			require.Equal(t, store.Done, status)
			require.Empty(t, s.sessions.current().places)
		})
	}
}

// A Rebase whose answer is lost raises the base all the same, and one whose first copy comes late goes above what another
// call has raised meanwhile. (defect G26)
func TestARebaseThatIsSentTwice(t *testing.T) {
	t.Parallel()
	name, silent := servers.Key(t), &silences{arrive: make(chan func() error, 1)}
	var until atomic.Int64 // the transaction that has no answer; the one before it finds out what the base is
	count := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, send grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if strings.HasSuffix(method, "/Txn") && until.Add(-1) == 0 {
			silent.armed.Store(true)
		}
		return send(ctx, method, req, reply, conn, opts...)
	}
	s, cli := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/",
		grpc.WithChainUnaryInterceptor(count, silent.unary))
	require.Equal(t, store.Held, asks(t, s.Lock(name), "id").Status)
	silent.first.Store(true)
	before := stored(t, cli, s)
	until.Store(2)
	require.NoError(t, s.Rebase(soon(t)))
	require.GreaterOrEqual(t, stored(t, cli, s), before+leap)

	s.routes.leave(s.routes.own)
	silent.first.Store(false)
	until.Store(2)
	raised := make(chan error, 1)
	go func() { raised <- s.Rebase(soon(t)) }()
	late := <-silent.arrive
	theirs := stored(t, cli, s) + 10*leap
	_, err := cli.Put(within(t), s.baseKey(), strconv.FormatInt(theirs, 10))
	require.NoError(t, err)
	require.NoError(t, <-raised)
	require.GreaterOrEqual(t, stored(t, cli, s), theirs+leap)
	require.NoError(t, late())
	require.GreaterOrEqual(t, stored(t, cli, s), theirs+leap)
}

// A connection of our own is used until it breaks, and then the application's. (defect G3)
func TestAConnectionOfOurOwnThatBreaks(t *testing.T) {
	t.Parallel()
	name, path := servers.Key(t), &netfault.Path{}
	s, _ := startedAt(t, etcdtest.Shared(t).Endpoint(), name+"-own/",
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return path.Dial(ctx, "tcp", addr)
		}))
	l := s.Lock(name)
	require.Equal(t, store.Held, asks(t, l, "a").Status)
	path.Forget()
	reply, err := l.Release(soon(t), "a")
	require.NoError(t, err)
	require.Equal(t, store.Done, reply.Status)
	require.NotNil(t, s.routes.own)
	path.Refuse(true) // or it would be made again at once
	require.Positive(t, path.Cut())
	require.Eventually(t, func() bool {
		on := s.routes.take()
		defer s.routes.give(on)
		return on == &s.routes.given
	}, patience, time.Millisecond)
	path.Refuse(false)
	require.Eventually(t, func() bool { // that was reset, too
		reply, _, err := l.Acquire(within(t), askOf("b"))
		return err == nil && reply.Status == store.Held
	}, patience, time.Millisecond)
}

// Silence is what a connection is held for on which nothing came for a while: an etcd that is slow has its requests
// once. Several connections, as to several servers, answer for themselves.
func TestWhatIsSilent(t *testing.T) {
	t.Parallel()
	name := servers.Key(t)
	s, cli := started(t, name+"-own/")
	given := &s.routes.given
	require.True(t, s.routes.silent(given, time.Hour), "nothing came yet")
	require.Equal(t, store.Held, asks(t, s.Lock(name), "id").Status)
	require.False(t, s.routes.silent(given, time.Hour))
	require.True(t, s.routes.silent(given, 0))
	cli.SetEndpoints(etcdtest.Shared(t).Endpoint(), "http://"+etcdtest.Shared(t).Addr())
	require.True(t, s.routes.silent(given, time.Hour))
}

// Where the application has put another KV in the place of its client's, which may ask for other keys, nothing is sent
// by another connection.
func TestAnotherKVIsNotPassedBy(t *testing.T) {
	t.Parallel()
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: []string{etcdtest.Shared(t).Endpoint()}, Logger: zap.NewNop(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = cli.Close() })
	require.True(t, New(cli, patience, "").routes.repeats)
	cli.KV = namespace.NewKV(cli.KV, "prefix/")
	s := New(cli, patience, "")
	require.False(t, s.routes.repeats)
	require.Nil(t, s.routes.instead(within(t), &s.routes.given))
}
