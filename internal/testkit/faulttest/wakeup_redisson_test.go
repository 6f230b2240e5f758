package faulttest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// wakeupJava is a hold as Redisson writes it: <client uuid>:<thread id>.
const wakeupJava = "8743c9c0-0795-4907-87fd-6c719a6b4586:53"

// wakeupHoldAsJava does what Redisson's lock script does for a free lock.
func (p *faultyPath) wakeupHoldAsJava(name string, lease time.Duration) {
	p.t.Helper()
	require.NoError(p.t, p.direct.HIncrBy(p.t.Context(), name, wakeupJava, 1).Err())
	require.NoError(p.t, p.direct.PExpire(p.t.Context(), name, lease).Err())
}

// A Redisson client's release is heard: it deletes the hash and publishes 0 on the lock's channel.
func TestRedissonsReleaseWakesAWaiterAtOnce(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	client := p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever})
	for range 10 {
		p.wakeupHoldAsJava("java", faultNever)
		_, _, err := rlock.New(client, "java").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		waiting := faultCall(t.Context(), rlock.New(client, "java").Lock)
		p.listened("java")
		require.NoError(t, p.direct.Del(t.Context(), "java").Err())
		require.NoError(t, p.direct.Publish(t.Context(), faultChannel("java"), "0").Err())
		faultEnters(t, waiting, faultSoon)
	}
}

// Bug 33: a Redisson client that died publishes nothing: the waiter gets in when the lease is over, by its own
// reckoning of the PTTL that it was told, and not before.
func TestWaiterGetsInWhenAForeignLeaseIsOver(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	p := newFaultyPath(t)
	lock := rlock.New(p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}), "dead")
	start := time.Now()
	p.wakeupHoldAsJava("dead", lease)
	waiting := faultCall(t.Context(), lock.Lock)
	g := faultAwait(t, waiting, lease+wakeupSlack)
	require.NoError(t, g.err)
	require.GreaterOrEqual(t, time.Since(start), lease, "in before the lease was over")
	fields, err := p.direct.HGetAll(t.Context(), "dead").Result()
	require.NoError(t, err)
	require.NotContains(t, fields, wakeupJava)
	require.NoError(t, g.unlock())
}

// Our release publishes exactly one message, "0", where Redisson's waiters listen, and nothing else
// that a hold goes through publishes anything.
func TestReleasePublishesWhatRedissonExpects(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	for _, c := range []struct{ name, channel string }{
		{"plain", "redisson_lock__channel:{plain}"},
		{"tenant:{a}:b", "redisson_lock__channel:tenant:{a}:b"},
	} {
		sub := p.direct.PSubscribe(t.Context(), "*")
		defer func() { _ = sub.Close() }()
		_, err := sub.Receive(t.Context())
		require.NoError(t, err)
		client := p.straight(rlock.ClientOptions{Lease: 600 * time.Millisecond})
		renewals := p.server.Calls(t, "pexpire")
		lock := rlock.New(client, c.name)
		held, unlock := p.hold(lock)
		_, _, err = lock.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		_, unlockInner, err := lock.Lock(held)
		require.NoError(t, err)
		require.NoError(t, unlockInner())
		redistest.Eventually(t, faultSoon, func() bool {
			return p.server.Calls(t, "pexpire") > renewals+3
		}, "no renewal")
		require.NoError(t, unlock())
		require.NoError(t, p.direct.Publish(t.Context(), "end", "end").Err())
		require.Equal(t, []string{c.channel + " 0", "end end"}, wakeupMessages(t, sub))
	}
}

// wakeupMessages returns what was published, up to the message "end".
func wakeupMessages(t *testing.T, sub *redis.PubSub) (messages []string) {
	t.Helper()
	for {
		msg, err := sub.ReceiveMessage(t.Context())
		require.NoError(t, err)
		messages = append(messages, msg.Channel+" "+msg.Payload)
		if msg.Payload == "end" {
			return messages
		}
	}
}
