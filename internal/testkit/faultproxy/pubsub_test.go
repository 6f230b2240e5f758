package faultproxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// receive returns the next thing that arrives on a subscription, as a short text.
func receive(t *testing.T, sub *redis.PubSub) string {
	t.Helper()
	got, err := sub.ReceiveTimeout(t.Context(), limit)
	require.NoError(t, err)
	switch got := got.(type) {
	case *redis.Message:
		return got.Payload
	case *redis.Subscription:
		return got.Kind + " " + got.Channel
	}
	t.Fatalf("received %T", got)
	return ""
}

func (l *lab) publish(t *testing.T, payload string) {
	t.Helper()
	require.NoError(t, l.direct.Publish(t.Context(), l.key, payload).Err())
}

func TestMessagesAnswerNothing(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		sub := l.rdb.Subscribe(t.Context(), l.key, "other")
		defer func() { require.NoError(t, sub.Close()) }()
		require.Equal(t, "subscribe "+l.key, receive(t, sub))
		require.Equal(t, "subscribe other", receive(t, sub))
		l.publish(t, "one")
		require.Equal(t, "one", receive(t, sub))

		// A reply that follows messages is still the reply to its request.
		gate := faultproxy.NewGate()
		held := l.proxy.On(faultproxy.Command("ping"), faultproxy.HoldReply(gate))
		require.NoError(t, sub.Ping(t.Context()))
		held.Wait(t, 1)
		l.publish(t, "two")
		gate.Open()
		got, err := sub.ReceiveTimeout(t.Context(), limit)
		require.NoError(t, err)
		require.IsType(t, &redis.Pong{}, got)
		require.Equal(t, "two", receive(t, sub))

		require.NoError(t, sub.Unsubscribe(t.Context()))
		require.NotEqual(t, receive(t, sub), receive(t, sub), "one for each channel")
		require.NoError(t, sub.Subscribe(t.Context(), "third"))
		require.Equal(t, "subscribe third", receive(t, sub))
	})
}

func TestShardedAndPatternSubscriptions(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		if major, _ := redistest.Shared(t).Version(); major >= 7 {
			sub := l.rdb.SSubscribe(t.Context(), l.key)
			require.Equal(t, "ssubscribe "+l.key, receive(t, sub))
			require.NoError(t, l.direct.SPublish(t.Context(), l.key, "m").Err())
			require.Equal(t, "m", receive(t, sub))
			require.NoError(t, sub.Close())
		}
		sub := l.rdb.PSubscribe(t.Context(), l.key+"*")
		require.Equal(t, "psubscribe "+l.key+"*", receive(t, sub))
		l.publish(t, "m")
		require.Equal(t, "m", receive(t, sub))
		require.NoError(t, sub.Close())
	})
}

func TestSubscribeCanBeHeld(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		held := l.proxy.On(faultproxy.Command("subscribe"), faultproxy.HoldReply(gate))
		sub := l.rdb.Subscribe(t.Context(), l.key)
		defer func() { require.NoError(t, sub.Close()) }()
		held.Wait(t, 1)
		l.publish(t, "m")
		gate.Open()
		require.Equal(t, "subscribe "+l.key, receive(t, sub))
		require.Equal(t, "m", receive(t, sub))
	})
}

func TestSwallowMessages(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		sub := l.rdb.Subscribe(t.Context(), l.key)
		defer func() { require.NoError(t, sub.Close()) }()
		require.Equal(t, "subscribe "+l.key, receive(t, sub))
		l.proxy.SwallowMessages(true)
		l.publish(t, "lost")
		// The confirmation comes after the message that was lost.
		require.NoError(t, sub.Subscribe(t.Context(), "other"))
		require.Equal(t, "subscribe other", receive(t, sub))
		l.proxy.SwallowMessages(false)
		l.publish(t, "kept")
		require.Equal(t, "kept", receive(t, sub))
	})
}

func TestCutSubscribersSparesTheOthers(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		conn := l.rdb.Conn()
		defer func() { require.NoError(t, conn.Close()) }()
		require.NoError(t, conn.Ping(t.Context()).Err())
		sub := l.rdb.Subscribe(t.Context(), l.key)
		defer func() { require.NoError(t, sub.Close()) }()
		require.Equal(t, "subscribe "+l.key, receive(t, sub))
		l.proxy.CutSubscribers()
		_, err := sub.ReceiveTimeout(t.Context(), limit)
		require.Error(t, err)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, conn.Ping(t.Context()).Err())
	})
}

// Redis has carried a SUBSCRIBE out, and shows it to others, before its answer passes the proxy.
func TestCutSubscribersTakesThoseThatWaitForTheirConfirmation(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		sub := l.rdb.Subscribe(t.Context())
		defer func() { require.NoError(t, sub.Close()) }()
		require.NoError(t, sub.Ping(t.Context())) // it is connected
		_, err := sub.ReceiveTimeout(t.Context(), limit)
		require.NoError(t, err)
		l.proxy.Latency(300 * time.Millisecond)
		defer l.proxy.Latency(0)
		require.NoError(t, sub.Subscribe(t.Context(), l.key))
		listens := func() bool { return len(l.direct.PubSubChannels(t.Context(), l.key).Val()) > 0 }
		redistest.Eventually(t, limit, listens, "the server does not know of it")
		l.proxy.CutSubscribers()
		redistest.Eventually(t, limit, func() bool { return !listens() }, "it was spared")
	})
}
