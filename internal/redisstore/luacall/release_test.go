package luacall_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// listen subscribes and returns a function that collects what came: everything published
// before it was called, for it publishes a last word itself and waits for that.
func (p *place) listen(sharded bool) (heard func() []string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	p.t.Cleanup(cancel)
	subscribe, publish := p.rdb.Subscribe, p.rdb.Publish
	if sharded {
		subscribe, publish = p.rdb.SSubscribe, p.rdb.SPublish
	}
	sub := subscribe(ctx, p.channel)
	p.t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(ctx)
	require.NoError(p.t, err)
	return func() (payloads []string) {
		p.t.Helper()
		require.NoError(p.t, publish(ctx, p.channel, "end").Err())
		for {
			message, err := sub.ReceiveMessage(ctx)
			require.NoError(p.t, err)
			if message.Payload == "end" {
				return payloads
			}
			payloads = append(payloads, message.Payload)
		}
	}
}

func TestRelease(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		run(p, p.acquire(alice))
		token := p.stored()
		got := run(p, p.release(alice))
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: 1}}, got)
		p.free()
		require.Equal(t, token, p.stored())
		require.Equal(t, []string{"0"}, heard(), "Redisson reads integers only")
	})
}

func TestReleaseSharded(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		call := luacall.Release(luacall.ReleaseArgs{
			Lock: p.lock, ID: alice, Channel: p.channel, Sharded: true,
		})
		run(p, p.acquire(alice))
		if !p.sharding() {
			require.Equal(t, int64(-1), run(p, call).Receivers)
			p.free()
			return
		}
		heard := p.listen(true)
		require.Equal(t, int64(1), run(p, call).Receivers)
		require.Equal(t, []string{"0"}, heard())
	})
}

func TestReleaseWhateverCountStands(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 7))
		require.Equal(t, luacall.Done, run(p, p.release(alice)).Status)
		p.free()
		require.Equal(t, []string{"0"}, heard())
	})
}

func TestReleaseOfAHoldThatIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Gone}}, run(p, p.release(alice)))
		run(p, p.acquire(bob))
		p.unchanged(func() {
			require.Equal(t, luacall.Gone, run(p, p.release(alice)).Status)
		})
		run(p, p.release(bob))
		require.Equal(t, luacall.Gone, run(p, p.release(bob)).Status, "a resend")
		require.Equal(t, []string{"0"}, heard(), "bob's one release")
	})
}

// The reclaimer relies on this: after "not there" at a time beyond the not-after, no copy of the acquisition can take
// the lock.
func TestReleaseTellsATimeThatProves(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		acquire := luacall.Acquire(luacall.AcquireArgs{
			Lock: p.lock, Token: p.token, ID: alice, Lease: lease, NotAfter: p.now(), FenceTTL: -1,
		})
		release := luacall.Release(luacall.ReleaseArgs{
			Lock: p.lock, ID: alice, Channel: p.channel, WantNow: true,
		})
		before := p.now()
		got := run(p, release)
		require.Equal(t, luacall.Gone, got.Status)
		require.GreaterOrEqual(t, got.Now, before)
		require.Equal(t, luacall.TooLate, run(p, acquire).Status)

		run(p, p.acquire(alice))
		got = run(p, release)
		require.Equal(t, luacall.Done, got.Status)
		require.Positive(t, got.Now)
	})
}

func TestReleaseWhereRedisRefusesToPublish(t *testing.T) {
	p := newPlace(t, nil)
	p.rdb = limited(t, "-publish")
	run(p, p.acquire(alice))
	require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: -1}}, run(p, p.release(alice)))
	p.free()
}

// A lock without expiry would be held for ever.
func TestNoHoldWhereRedisRefusesToExpire(t *testing.T) {
	p := newPlace(t, nil)
	p.rdb = limited(t, "-pexpire")
	_, err := p.acquire(alice).Run(t.Context(), p.rdb)
	refusedByRedis(t, err)
	p.free()

	for _, act := range []func() error{
		func() error { _, err := p.adopt(alice, bob).Run(t.Context(), p.rdb); return err },
		func() error { _, err := p.retain(alice, bob, never>>10).Run(t.Context(), p.rdb); return err },
	} {
		p.do("HSET %s %s 1", p.lock, alice)
		refusedByRedis(t, act())
		require.Equal(t, map[string]string{alice: "1"},
			p.rdb.HGetAll(t.Context(), p.lock).Val(), "refused before anything was written")
		p.do("DEL %s", p.lock)
	}
}

func TestReceiversAreThoseOfTheChannel(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		require.Zero(t, run(p, p.release(alice)).Receivers)
		for range 3 {
			p.listen(false)
		}
		run(p, p.acquire(alice))
		require.Equal(t, int64(3), run(p, p.release(alice)).Receivers)
	})
}

// limited returns a client of a user on a server of its own who may do everything but what
// the rule takes away.
func limited(t *testing.T, rule string) *redis.Client {
	t.Helper()
	server := startServer(t)
	admin := server.Client(t)
	require.NoError(t, admin.Do(t.Context(),
		"ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all", rule).Err())
	options := server.Options()
	options.Username, options.Password = "limited", "secret"
	rdb := redis.NewClient(options)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func refusedByRedis(t *testing.T, err error) {
	t.Helper()
	var reply redis.Error
	require.ErrorAs(t, err, &reply)
	require.NotErrorIs(t, err, luacall.ErrConflict)
}
