package luacall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// bundling sends each call that can be in a bundle in one with a call for another lock in front of it and one
// behind it, which have to succeed whatever becomes of it.
type bundling struct {
	t       testing.TB
	rdb     *redis.Client
	bundles int
}

func (b *bundling) Process(ctx context.Context, cmd redis.Cmder) error {
	b.t.Helper()
	name := fmt.Sprintf("%s:beside:%d", b.t.Name(), names.Add(1))
	before, behind := newPlace(b.t, b.rdb), newPlace(b.t, b.rdb)
	run(before, before.acquire(bob))
	run(behind, behind.acquire(bob))
	for _, calls := range [][2]redis.Cmder{
		{command(before.release(bob)), command(behind.release(bob))},
		{command(newPlaceAt(b, name+"a").acquire(bob)), command(newPlaceAt(b, name+"b").acquire(bob))},
	} {
		all, rest := luacall.Bundles(ctx, []redis.Cmder{calls[0], cmd, calls[1]})
		if len(rest) > 0 { // it is of the other kind, or can be in none
			continue
		}
		require.Len(b.t, all, 1)
		b.bundles++
		again, err := b.send(ctx, all[0])
		for _, c := range again {
			_ = b.rdb.Process(ctx, c)
		}
		if err == nil { // of the connection
			for _, c := range calls {
				require.NoError(b.t, c.Err())
				status := c.(interface{ Val() []int64 }).Val()[0]
				require.Contains(b.t, []luacall.Status{luacall.Held, luacall.Done}, luacall.Status(status))
			}
		}
		return cmd.Err()
	}
	return b.rdb.Process(ctx, cmd)
}

func newPlaceAt(b *bundling, name string) *place {
	p := newPlace(b.t, b.rdb)
	p.lock = name
	return p
}

func (b *bundling) send(ctx context.Context, one *luacall.Bundle) (again []redis.Cmder, err error) {
	err = b.rdb.Process(ctx, one.Cmd())
	if one.Unknown(ctx) {
		err = b.rdb.Process(ctx, one.Cmd())
	}
	return one.Deal(err), err
}

// capture keeps the command that a call would send.
type capture struct{ cmd redis.Cmder }

func (c *capture) Process(_ context.Context, cmd redis.Cmder) error {
	c.cmd = cmd
	return context.Canceled
}

func command[R any](call *luacall.Call[R]) redis.Cmder {
	var c capture
	_, _ = call.Run(context.Background(), &c)
	return c.cmd
}

// A command of another kind, or the only one of its kind, stays as it is.
func TestWhatIsBundled(t *testing.T) {
	p := newPlace(t, redistest.Shared(t).Client(t))
	withNow := luacall.Release(luacall.ReleaseArgs{Lock: p.lock, ID: alice, Channel: p.channel, WantNow: true})
	sharded := luacall.Release(luacall.ReleaseArgs{Lock: p.lock, ID: alice, Channel: p.channel, Sharded: true})
	others := []redis.Cmder{
		command(withNow), command(withNow), command(sharded),
		command(sharded), command(p.adopt(alice, bob)), command(p.adopt(alice, bob)),
		redis.NewCmd(t.Context(), "ping"),
	}
	bundles, rest := luacall.Bundles(t.Context(), others)
	require.Empty(t, bundles)
	require.Equal(t, others, rest)

	bundles, rest = luacall.Bundles(t.Context(), []redis.Cmder{command(p.acquire(alice)), command(p.release(alice))})
	require.Empty(t, bundles)
	require.Len(t, rest, 2)

	var many []redis.Cmder
	for range 2*luacall.MaxBundle + 1 {
		many = append(many, command(p.acquire(alice)))
	}
	bundles, rest = luacall.Bundles(t.Context(), many)
	require.Len(t, bundles, 2)
	require.Len(t, rest, 1)
}

// A server that answers a bundle with an error has carried out none of it; without an answer nobody knows.
func TestABundleThatFails(t *testing.T) {
	server := startServer(t)
	p := newPlace(t, server.Client(t))
	for name, c := range map[string]struct {
		make  func() redis.Cmder
		again int
	}{
		"refused": {func() redis.Cmder { return command(p.acquire(alice)) }, 2},
		"lost":    {func() redis.Cmder { return command(p.release(alice)) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			calls := []redis.Cmder{c.make(), c.make()}
			bundles, _ := luacall.Bundles(t.Context(), calls)
			require.Len(t, bundles, 1)
			var failure error = context.DeadlineExceeded
			if c.again > 0 {
				failure = redis.NewCmd(t.Context()).Err()
				bundles[0].Cmd().SetErr(p.rdb.Do(t.Context(), "no such command").Err())
			}
			require.Len(t, bundles[0].Deal(failure), c.again)
			for _, call := range calls[c.again:] {
				require.ErrorIs(t, call.Err(), context.DeadlineExceeded)
			}
		})
	}
}

// Where PEXPIRE or SET was taken away from the user, nothing of the call stays, as if it had been by itself.
func TestABundleTakesBackWhatItMayNotEnd(t *testing.T) {
	for _, command := range []string{"-pexpire", "-set", "-hset"} {
		t.Run(command, func(t *testing.T) {
			rdb := limited(t, command)
			first, second := newPlace(t, rdb), newPlace(t, rdb)
			calls := []redis.Cmder{commandOf(first), commandOf(second)}
			bundles, _ := luacall.Bundles(t.Context(), calls)
			require.NoError(t, rdb.Process(t.Context(), fully(t, bundles[0])))
			require.Equal(t, calls, bundles[0].Deal(nil))
			first.free()
			second.free()
		})
	}
}

// A bundle costs Redis one script, and the time is asked for once.
func TestCallsInsideABundle(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	other := newPlace(t, p.rdb)
	for _, commands := range []func(*place) redis.Cmder{
		commandOf, func(p *place) redis.Cmder { return command(p.release(alice)) },
		commandOf, func(p *place) redis.Cmder { return command(p.release(alice)) },
	} {
		b, _ := luacall.Bundles(t.Context(), []redis.Cmder{commands(p), commands(other)})
		require.NoError(t, p.rdb.Process(t.Context(), fully(t, b[0])))
	}
	run(p, p.acquire(alice))
	require.Equal(t, "hdel*2 publish", p.callsOf(func() {
		b, _ := luacall.Bundles(t.Context(), []redis.Cmder{command(p.release(alice)), command(other.release(alice))})
		require.NoError(t, p.rdb.Process(t.Context(), b[0].Cmd()))
	}))
	require.Equal(t, "get*2 hset*2 pexpire*2 pttl*2 set*2 time", p.callsOf(func() {
		b, _ := luacall.Bundles(t.Context(), []redis.Cmder{commandOf(p), commandOf(other)})
		require.NoError(t, p.rdb.Process(t.Context(), b[0].Cmd()))
	}))
}

func commandOf(p *place) redis.Cmder { return command(p.acquire(alice)) }

// fully makes a bundle bring its script along.
func fully(t *testing.T, b *luacall.Bundle) redis.Cmder {
	b.Cmd().SetErr(noScript{})
	require.True(t, b.Unknown(t.Context()))
	return b.Cmd()
}

type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script" }
func (noScript) RedisError()   {}
