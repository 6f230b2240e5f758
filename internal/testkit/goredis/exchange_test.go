package goredis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestAnExchangeEndsWithTheDeadlineOfItsContext(t *testing.T) {
	c, proxy, _ := faulty(t)
	require.NoError(t, c.Ping(t.Context()).Err())
	proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	isTimeout(t, c.Echo(ctx, "a").Err())
}

// moving is a context whose deadline moves.
type moving struct {
	context.Context
	at atomic.Pointer[time.Time]
}

func (m *moving) Deadline() (time.Time, bool) { return *m.at.Load(), true }

func (m *moving) move(by time.Duration) {
	at := time.Now().Add(by)
	m.at.Store(&at)
}

// The locks move a deadline while a connection is made: they are asked for credentials before the first command on it,
// and called after the last, both with the context of the command that wanted it. So the command's own deadline must be
// read after that.
func TestADeadlineIsReadAfterTheGreeting(t *testing.T) {
	ctx := &moving{Context: t.Context()}
	ctx.move(never)
	var order []string
	o := strict(redistest.Shared(t).Addr())
	tcp := redis.NewDialer(&redis.Options{DialTimeout: never})
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		order = append(order, "dial")
		return tcp(ctx, network, addr)
	}
	o.CredentialsProviderContext = func(got context.Context) (string, string, error) {
		order = append(order, fmt.Sprint("credentials ", got.Value(key{})))
		return "", "", nil
	}
	o.OnConnect = func(got context.Context, conn *redis.Conn) error {
		order = append(order, fmt.Sprint("connected ", got.Value(key{})))
		ctx.move(-time.Second)
		return nil
	}
	isTimeout(t, client(t, o).Echo(context.WithValue(ctx, key{}, "mine"), "a").Err())
	require.Equal(t, []string{"dial", "credentials mine", "connected mine"}, order)
}

type key struct{}

// once is a command that must not be repeated.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func (o once) Clone() redis.Cmder { return once{o.Cmd.Clone().(*redis.Cmd)} }

// What was sent and not answered is not sent again: neither by a client without retries, nor, if the command says so, by
// one with them.
func TestALostAnswerIsNotAskedForAgain(t *testing.T) {
	c, proxy, server := faulty(t)
	o := strict(proxy.Addr())
	o.MaxRetries = 3
	eager := client(t, o)
	proxy.On(faultproxy.Command("incr"), faultproxy.CutAfter)
	require.NoError(t, server.Client(t).Del(t.Context(), "strict", "eager").Err())

	require.Error(t, c.Incr(t.Context(), "strict").Err())
	proxy.On(faultproxy.Command("incr"), faultproxy.CutAfter)
	cmd := once{redis.NewCmd(t.Context(), "incr", "eager")}
	require.Error(t, eager.Process(t.Context(), cmd))
	require.Equal(t, "1", server.Client(t).Get(t.Context(), "strict").Val())
	require.Equal(t, "1", server.Client(t).Get(t.Context(), "eager").Val())
}

func TestAFailedDialIsTriedOnce(t *testing.T) {
	var dials atomic.Int32
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}
	o := strict("127.0.0.1:1")
	o.PoolSize = 3 // after so many failures go-redis dials by itself, to see whether the server is back
	o.Dialer = func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		return nil, refused
	}
	c := client(t, o)
	err := c.Ping(t.Context()).Err()
	require.EqualValues(t, 1, dials.Load())
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.Equal(t, "dial", op.Op)
}

// broken is a connection that fails with an error of a dial.
type broken struct {
	net.Conn
	err error
}

func (b broken) Read([]byte) (int, error)  { return 0, b.err }
func (b broken) Write([]byte) (int, error) { return 0, b.err }

// The locks let a dial fail at the first use of its connection. go-redis unwraps one layer of that.
func TestAnErrorOfTheGreetingIsKept(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")}
	var down atomic.Bool
	down.Store(true)
	c := dialling(t, func(d dial) dial {
		return func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := d(ctx, network, addr)
			if err == nil && down.Load() {
				return broken{conn, fmt.Errorf("%w", refused)}, nil
			}
			return conn, err
		}
	})
	for range 10 { // more than the pool has places
		err := c.Ping(t.Context()).Err()
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op)
	}
	down.Store(false)
	require.NoError(t, c.Ping(t.Context()).Err(), "the server is back")
}

// A command of a pipeline that breaks has an answer or an error, and the error of one without an answer is no refusal.
func TestABrokenPipelineLeavesNoCommandWithoutAnError(t *testing.T) {
	c, proxy, _ := faulty(t)
	proxy.On(faultproxy.Command("get"), faultproxy.CutReplyAt(1))
	pipe := c.Pipeline()
	first, second := pipe.Echo(t.Context(), "a"), pipe.Get(t.Context(), "none")
	_, err := pipe.Exec(t.Context())
	require.Error(t, err)
	require.True(t, first.Val() == "a" || first.Err() != nil)
	require.Error(t, second.Err())
	var refused redis.Error
	require.NotErrorAs(t, second.Err(), &refused)
}

// poison is an argument that makes go-redis panic, where a reply would that it does not expect.
type poison struct{}

func (poison) MarshalBinary() ([]byte, error) { panic("poison") }

// rescue makes a panic an error.
type rescue struct{}

func (rescue) DialHook(next redis.DialHook) redis.DialHook { return next }

func (rescue) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("%v", p)
				cmd.SetErr(err)
			}
		}()
		return next(ctx, cmd)
	}
}

func (rescue) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A hook runs on the goroutine that writes and reads, so it can recover what happens there; the connection is then out
// of its pool and not used again.
func TestAHookRunsWhereThePanicIs(t *testing.T) {
	c, _, _ := faulty(t)
	c.AddHook(rescue{})
	before := c.ClientID(t.Context()).Val()
	require.ErrorContains(t, c.Set(t.Context(), "a", poison{}, 0).Err(), "poison")
	after, err := c.ClientID(t.Context()).Result()
	require.NoError(t, err, "the place in the pool is free again")
	require.NotEqual(t, before, after)
}

// WAIT confirms what its own connection wrote.
func TestAConnIsOneConnection(t *testing.T) {
	o := strict(redistest.Shared(t).Addr())
	o.PoolSize = 3
	c := client(t, o)
	one, other := c.Conn(), c.Conn()
	defer func() { _, _ = one.Close(), other.Close() }()
	id := one.ClientID(t.Context()).Val()
	require.NotZero(t, id)
	require.NotEqual(t, id, other.ClientID(t.Context()).Val())
	require.Equal(t, id, one.ClientID(t.Context()).Val())
}

// Close ends what is under way, and says so.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	c, proxy, _ := faulty(t)
	require.NoError(t, c.Ping(t.Context()).Err())
	held := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ended := make(chan error, 1)
	go func() { ended <- c.Echo(context.Background(), "a").Err() }()
	held.Wait(t, 1)
	require.NoError(t, c.Close())
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(never / 2):
		t.Fatal("the command goes on after Close")
	}
	require.ErrorIs(t, c.Ping(t.Context()).Err(), redis.ErrClosed)
}
