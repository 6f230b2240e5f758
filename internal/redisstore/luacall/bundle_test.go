package luacall_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// bundling sends each call that can be in a bundle in one with a call for another lock in front of it and one
// behind it, which have to succeed whatever becomes of it. A call of a permit has two beside it that come too late, or
// for no hold.
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
		permitsBeside(cmd),
	} {
		if calls[0] == nil {
			continue
		}
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
				require.Contains(b.t, besides[c.Args()[1]], luacall.Status(status))
			}
		}
		return cmd.Err()
	}
	return b.rdb.Process(ctx, cmd)
}

// besides are the answers to calls that are beside others.
var besides = map[any][]luacall.Status{
	luacall.SHA("acquire"):        {luacall.Held},
	luacall.SHA("release"):        {luacall.Done},
	luacall.SHA("permit_acquire"): {luacall.TooLate},
	luacall.SHA("permit_release"): {luacall.Gone},
}

// permitsBeside are two calls that change nothing, for the semaphore of a command, if it has one.
func permitsBeside(cmd redis.Cmder) (beside [2]redis.Cmder) {
	args := cmd.Args()
	sha, last := args[1], len(args)-3
	if sha != luacall.SHA("permit_acquire") && sha != luacall.SHA("permit_release") {
		return beside
	}
	p := luacall.Permits{
		Free: args[3].(string), Leases: args[4].(string), Channel: args[last].(string),
		Sharded: args[last+1] == "SPUBLISH", Unused: args[last+2].(int64),
	}
	for i := range beside {
		hold := luacall.PermitHold{ID: fmt.Sprint("beside:", i), Count: 1}
		beside[i] = command(luacall.PermitRelease(p, hold))
		if sha == luacall.SHA("permit_acquire") {
			beside[i] = command(luacall.PermitAcquire(p, hold, lease, 1))
		}
	}
	return beside
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
func fully(t testing.TB, b *luacall.Bundle) redis.Cmder {
	b.Cmd().SetErr(noScript{})
	require.True(t, b.Unknown(t.Context()))
	return b.Cmd()
}

// together sends calls in bundles, and by themselves what is told to be apart. It returns what each was told first.
func together[R any](s *sem, calls ...*luacall.Call[R]) (told []luacall.Status) {
	s.t.Helper()
	var cmds []redis.Cmder
	for _, call := range calls {
		cmds = append(cmds, command(call))
	}
	bundles, rest := luacall.Bundles(s.t.Context(), cmds)
	require.Empty(s.t, rest)
	var apart []redis.Cmder
	for _, b := range bundles {
		apart = append(apart, b.Deal(s.rdb.Process(s.t.Context(), fully(s.t, b)))...)
	}
	for _, cmd := range cmds {
		status := luacall.Apart
		if !slices.Contains(apart, cmd) {
			require.NoError(s.t, cmd.Err())
			status = luacall.Status(cmd.(interface{ Val() []int64 }).Val()[0])
		}
		told = append(told, status)
	}
	return told
}

// Each call in a bundle has its own answer: what is free goes to the first ones, and the sums stay right, though one
// hold is in the list twice. Waiters hear once how many permits came back.
func TestPermitsInABundle(t *testing.T) {
	t.Run("redis", func(t *testing.T) {
		permitsInABundle(t, newSem(newPlace(t, redistest.Shared(t).Client(t))))
	})
	t.Run("miniredis", func(t *testing.T) { permitsInABundle(t, newSem(onMiniredis(t))) })
}

func permitsInABundle(t *testing.T, s *sem) {
	const apart = luacall.Apart
	heard := s.listen(false)
	s.capacity(3)
	run(s.place, s.take("c:old", 1))
	late := luacall.PermitAcquire(s.keys, luacall.PermitHold{ID: "c:late", Count: 1}, lease, 1)
	require.Equal(t, []luacall.Status{-1, 1, apart, 2, 1, apart},
		together(s, late, s.take("c:a", 1), s.take("c:a", 1), s.take("c:old", 1), s.take("c:b", 1), s.take("c:c", 1)))
	s.sums(0, 3)
	s.unchanged(func() {
		require.Equal(t, []luacall.Status{2, apart, -1}, together(s, s.take("c:b", 1), s.take("c:c", 1), late))
		require.Equal(t, []luacall.Status{4, 4}, together(s, s.back("c:c", 1), s.back("c:none", 1)))
	})
	s.expire("c:a", 1)
	require.Equal(t, []luacall.Status{3, 4, apart, 4, 3},
		together(s, s.back("c:old", 1), s.back("c:a", 1), s.back("c:old", 1), s.back("c:none", 1), s.back("c:b", 1)))
	s.sums(2, 1)
	require.Equal(t, []string{"3", "2"}, heard())
	require.Equal(t, []luacall.Status{1, 1, apart},
		together(s, s.take("c:d", 1), s.take("c:e", 1), s.take("c:f", 1)), "a bundle moves no expired permit")
	require.Equal(t, luacall.Held, run(s.place, s.take("c:f", 1)).Status)
	s.sums(0, 3)
}

// Every semaphore has bundles of its own, as have calls that want more than one permit, which are in none.
func TestPermitsOfSeveralSemaphores(t *testing.T) {
	s := newSem(newPlace(t, redistest.Shared(t).Client(t)))
	other := newSem(newPlace(t, s.rdb))
	single := newSem(newPlace(t, s.rdb))
	expiring := *s
	expiring.keys.Unused = 1000
	cmds := []redis.Cmder{
		command(s.take("c:a", 1)), command(other.take("c:a", 1)), command(s.back("c:b", 1)), command(single.take("c:a", 1)),
		command(s.take("c:c", 1)), command(s.take("c:d", 2)), command(other.take("c:c", 1)), command(s.back("c:d", 0)),
		command(s.back("c:e", 1)), command(expiring.take("c:f", 1)), command(expiring.back("c:f", 1)),
		command(luacall.PermitReleaseOne(s.keys, "x")),
	}
	bundles, rest := luacall.Bundles(t.Context(), cmds)
	require.ElementsMatch(t, rest, []redis.Cmder{cmds[3], cmds[5], cmds[7], cmds[9], cmds[10], cmds[11]})
	var args [][]any
	for _, b := range bundles {
		args = append(args, b.Cmd().Args()[2:])
	}
	require.Equal(t, [][]any{
		{2, s.keys.Free, s.keys.Leases, s.keys.Channel, "PUBLISH", int64(0), "c:b", "c:e"},
		{2, s.keys.Free, s.keys.Leases, int64(0), "c:a", lease, never, "c:c", lease, never},
		{2, other.keys.Free, other.keys.Leases, int64(0), "c:a", lease, never, "c:c", lease, never},
	}, args)
}

// Where a command was taken away from the user, nothing of a bundle stays but what a call by itself would leave.
func TestABundleOfPermitsTakesBackWhatItMayNotEnd(t *testing.T) {
	s := newSem(newPlace(t, limited(t, "-zadd")))
	require.NoError(t, s.rdb.Set(t.Context(), s.lock, 5, 0).Err())
	require.Equal(t, []luacall.Status{luacall.Apart, luacall.Apart}, together(s, s.take("c:a", 1), s.take("c:b", 1)))
	s.sums(5, 0)
}

type noScript struct{}

func (noScript) Error() string { return "NOSCRIPT No matching script" }
func (noScript) RedisError()   {}
