package links_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// echo sends a text and returns the reply.
func echo(ctx context.Context, rdb redis.UniversalClient, text string) error {
	return rdb.Echo(ctx, text).Err()
}

// patient derives clients whose own limits do not cut a command's deadline short.
func patient(t *testing.T, rdb redis.UniversalClient) *links.Links {
	l, err := links.From(rdb, links.Limits{Command: 2 * eventually, Life: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// faulty derives clients that reach Redis through a proxy.
func faulty(t *testing.T) (*links.Links, *faultproxy.Proxy) {
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	opts := server.Options()
	opts.Addr = proxy.Addr()
	given := redis.NewClient(opts)
	t.Cleanup(func() { require.NoError(t, given.Close()) })
	return patient(t, given), proxy
}

// An exchange that was left fails at once, and its connection is not used again; the others are.
func TestAnExchangeIsLeftByItsDeadline(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	gate := faultproxy.NewGate()
	held := proxy.On(faultproxy.Command("echo"), faultproxy.HoldReply(gate)).Times(2)
	at := time.Now().Add(eventually)
	begin := func(at time.Time) <-chan error {
		result := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithDeadline(context.Background(), at)
			defer cancel()
			result <- echo(ctx, l.Traffic, "held")
		}()
		return result
	}
	goes := begin(at)
	held.Wait(t, 1)
	stays := begin(at.Add(1))
	held.Wait(t, 2)
	require.Nil(t, l.Wires().Leave(at.Add(2)), "nobody has that deadline")
	require.Nil(t, l.Wires().Leave(time.Time{}), "nor that")
	wire := l.Wires().Leave(at)
	require.NotNil(t, wire)
	require.Error(t, <-goes)
	require.True(t, wire.Ended(at), "its reply is to come")
	settled := make(chan struct{})
	go func() {
		wire.Settle()
		close(settled)
	}()
	select {
	case <-settled:
		t.Fatal("settled without a reply")
	default:
	}
	gate.Open()
	<-settled
	require.NoError(t, <-stays)
	require.Nil(t, l.Wires().Leave(at), "it is closed")
}

// An exchange that was left does not delay Close: the server may never answer.
func TestCloseSettlesWhatWasLeft(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	lost := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	at := time.Now().Add(eventually)
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithDeadline(context.Background(), at)
		defer cancel()
		result <- echo(ctx, l.Traffic, "lost")
	}()
	lost.Wait(t, 1)
	var wire *links.Wire
	redistest.Eventually(t, eventually, func() bool {
		wire = l.Wires().Leave(at)
		return wire != nil
	}, "there is no such exchange")
	require.Error(t, <-result)
	require.True(t, wire.Ended(at))
	settled := make(chan struct{})
	go func() {
		wire.Settle()
		close(settled)
	}()
	require.NoError(t, l.Close())
	<-settled
	require.True(t, time.Now().Before(at), "it was the deadline that settled it")
}

// go-redis checks the socket of an idle connection before it uses it, and must be able to. A connection that answered
// a moment ago is not checked.
func TestAConnectionThatWasHungUpIsNotUsed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := patient(t, server.Client(t))
	for range 20 {
		for range 3 {
			require.NoError(t, echo(t.Context(), l.Traffic, "on a connection that lives"))
		}
		require.NoError(t, server.Client(t).ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
		<-time.After(2 * links.IdleAfter)
	}
}

// The deadline of an exchange stays on its connection. It disturbs the next exchange no more than the check before
// it, whether it has passed by then or not.
func TestADeadlineThatIsLeftBehindDoesNoHarm(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	var sent redistest.Meter
	opts := server.Options()
	opts.Dialer = sent.Dial
	given := redis.NewClient(opts)
	defer func() { require.NoError(t, given.Close()) }()
	l := patient(t, given)
	for _, rest := range []time.Duration{0, links.IdleAfter / 2, 2 * links.IdleAfter, 300 * time.Millisecond} {
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			require.NoError(t, echo(ctx, l.Traffic, "in time"))
			cancel()
			<-time.After(rest)
			require.NoError(t, echo(t.Context(), l.Traffic, "with another deadline"))
		}
	}
	require.EqualValues(t, 1, sent.Dials(), "a connection was given up")
}

// An exchange waits for a silent server until its own deadline, and no longer.
func TestEveryExchangeHasItsDeadline(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	for range 3 {
		require.NoError(t, echo(t.Context(), l.Traffic, "it answers")) // and is taken out of the pool next time
	}
	lost := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	require.Error(t, echo(ctx, l.Traffic, "lost"))
	require.Less(t, time.Since(begun), eventually)
	lost.Wait(t, 1)
}
