package faulttest_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// lateLease is so long that a copy may come for seconds, and that nothing in these tests ends with it.
const lateLease = 30 * time.Second

// lateLab is a lock that a rival holds, and a copy of the next request for it.
type lateLab struct {
	*testing.T
	proxy  *faultproxy.Proxy
	direct *redis.Client
	name   string
	client *rlock.Client // through the proxy
	unlock func() error  // of the rival
}

func newLateLab(t *testing.T) *lateLab {
	t.Helper()
	server := redistest.Shared(t)
	l := &lateLab{T: t, proxy: faultproxy.Start(t, server.Addr()), direct: server.Client(t), name: redistest.Key(t)}
	client := func(addr string) *rlock.Client {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		c, err := rlock.NewClient(rdb, &rlock.ClientOptions{
			Lease: lateLease, MaxPoll: time.Second, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, c.Close())
			_ = rdb.Close()
		})
		// The first request is answered with the server's time only, and Redis learns the scripts.
		require.NoError(t, rlock.New(c, l.name).Do(context.Background(), func(context.Context) error { return nil }))
		return c
	}
	l.client = client(l.proxy.Addr())
	var err error
	_, l.unlock, err = rlock.New(client(server.Addr()), l.name).Lock(t.Context())
	require.NoError(t, err)
	return l
}

// copied has a copy of the next acquisition carried out when the gate opens.
func (l *lateLab) copied() *faultproxy.Gate {
	l.Helper()
	gate := faultproxy.NewGate()
	l.Cleanup(gate.Open)
	l.proxy.On(faultproxy.Script(luacall.SHA("acquire")), faultproxy.DuplicateLater(gate)).Times(1)
	return gate
}

// comes lets the copy come when the lock is free, and sees that it takes the lock.
func (l *lateLab) comes(gate *faultproxy.Gate) {
	l.Helper()
	require.NoError(l, l.unlock())
	gate.Open()
	redistest.Receive(l, oncePatience, gate.Delivered(), "the copy was not carried out")
	require.Equal(l, int64(1), l.direct.Exists(l.Context(), l.name).Val(), "the copy has it")
}

// defect A2: a waiter whose lock a copy of an earlier, refused request took has it for as long as that copy's
// lease, and not from when it heard of it.
func TestValidityOfWhatACopyTook(t *testing.T) {
	t.Parallel()
	l := newLateLab(t)
	l.proxy.SwallowMessages(true) // the waiter asks again when it polls
	lock := rlock.New(l.client, l.name)
	gate := l.copied()
	type result struct {
		held   context.Context
		unlock func() error
		err    error
	}
	got := make(chan result, 1)
	go func() {
		held, unlock, err := lock.Lock(context.Background())
		got <- result{held, unlock, err}
	}()
	redistest.Eventually(t, oncePatience, func() bool {
		return l.direct.PubSubNumSub(t.Context(), "redisson_lock__channel:{"+l.name+"}").
			Val()["redisson_lock__channel:{"+l.name+"}"] > 0
	}, "it was refused, and listens")
	l.comes(gate)
	taken := time.Now()
	r := <-got
	require.NoError(t, r.err)
	hold, err := lock.Held(r.held)
	require.NoError(t, err)
	require.Less(t, hold.ValidUntil, taken.Add(lateLease), "its lease began when the copy was carried out")
	require.NoError(t, r.unlock())
}
