package luacall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Every call inside a script costs Redis's one thread more than a microsecond: here is what
// each script pays.
func TestCallsInsideScripts(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	type step struct {
		name  string
		act   func()
		calls string // in alphabetical order
	}
	for _, s := range []step{
		{"the first token", func() { run(p, p.acquire(alice)) },
			"get hset pexpire pttl set time"},
		{"resend", func() { run(p, p.acquire(alice)) },
			"get hgetall hlen pttl time"},
		{"busy", func() { run(p, p.acquire(bob)) },
			"hgetall hlen pttl time"},
		{"inspect", func() { run(p, p.inspect()) },
			"get hgetall hlen pttl pubsub"},
		{"renewal", func() { run(p, p.renew(alice, lease)) },
			"hmget pexpire"},
		{"levels", func() { run(p, p.levels(alice, 1, 2)) },
			"hincrby hmget"},
		{"a copy of levels", func() { run(p, p.levels(alice, 1, 2)) },
			"hmget"},
		{"renewal of a nested hold", func() { run(p, p.renew(alice, lease)) },
			"hmget pexpire"},
		{"minting", func() { run(p, p.mintFor(alice)) },
			"get hmget set time"},
		{"minting for nothing", func() { run(p, p.mintFor(bob)) },
			"hmget time"},
		{"adoption", func() { run(p, p.adopt(alice, bob)) },
			"hdel hmget hset pexpire time"},
		{"retaining", func() { run(p, p.retain(bob, carol, never>>10)) },
			"hdel hmget hset pexpire publish time"},
		{"retaining nothing", func() { run(p, p.retain(bob, alice, never>>10)) },
			"hmget time"},
		{"release", func() { run(p, p.release(carol)) },
			"hdel publish"},
		{"release of nothing", func() { run(p, p.release(alice)) },
			"hdel"},
		{"acquisition", func() { run(p, p.acquire(alice)) },
			"get hset pexpire pttl set time"},
		{"release with the time", func() {
			run(p, luacall.Release(luacall.ReleaseArgs{
				Lock: p.lock, ID: alice, Channel: p.channel, WantNow: true,
			}))
		}, "hdel publish time"},
	} {
		require.Equal(t, s.calls, p.callsOf(s.act), s.name)
	}
}

// The cost of several locks together does not grow by every call that one of them needs.
func TestCallsInsideScriptsForSeveralLocks(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	all := setOf(p, 3)
	run(p, all.acquire(alice))
	run(p, all.release(alice))
	require.Equal(t, "exists hset*3 mget pexpire*3 set*3 time", p.callsOf(func() { run(p, all.acquire(alice)) }))
	require.Equal(t, "hdel*3 publish*3", p.callsOf(func() { run(p, all.release(alice)) }))
}

func TestCallsOfATokenAheadOfTheClock(t *testing.T) {
	p := newPlace(t, startServer(t).Client(t))
	p.do("SET %s 5000000000000000", p.token)
	require.Equal(t, "get hset incr pexpire pttl*2 time",
		p.callsOf(func() { run(p, p.acquireFor(fenceTTL)) }))
	run(p, p.release(alice))
	require.Equal(t, "get hset incr persist pexpire pttl time",
		p.callsOf(func() { run(p, p.acquireFor(-1)) }))
	run(p, p.release(alice))
	p.do("SET %s 9007199254740992", p.token)
	require.Equal(t, "get*2 hset incr pexpire pttl*2 time",
		p.callsOf(func() { run(p, p.acquireFor(fenceTTL)) }))
}

// callsOf returns the commands that act makes scripts call.
func (p *place) callsOf(act func()) string {
	p.t.Helper()
	require.NoError(p.t, p.rdb.ConfigResetStat(p.t.Context()).Err())
	act()
	text, err := p.rdb.Info(p.t.Context(), "commandstats").Result()
	require.NoError(p.t, err)
	var commands []string
	for line := range strings.Lines(text) {
		name, numbers, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		name, _, _ = strings.Cut(name, "|") // subcommands have their own lines since Redis 7
		// These come from the client, not from a script.
		if !found || slices.Contains([]string{"eval", "evalsha", "config"}, name) {
			continue
		}
		calls, _, _ := strings.Cut(numbers, ",")
		if calls != "1" {
			name += "*" + calls
		}
		commands = append(commands, name)
	}
	slices.Sort(commands)
	return strings.Join(commands, " ")
}
