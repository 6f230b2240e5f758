package luacall_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const (
	alice = "6f1d2c1e-aaaa-4b6e-8b6f-000000000001:1"
	bob   = "6f1d2c1e-bbbb-4b6e-8b6f-000000000002:1"

	lease    = int64(30_000)
	fenceTTL = int64(24 * 60 * 60 * 1000)

	// never is a not-after that no clock reaches.
	never = int64(math.MaxInt64)
)

// names keeps the tests of the shared server apart.
var names atomic.Int64

// place is a lock of one test on one server.
type place struct {
	t    testing.TB
	rdb  *redis.Client
	conn luacall.Conn // what calls are sent over, if not rdb
	mini bool
	made time.Time

	lock, token, channel string
}

func newPlace(t testing.TB, rdb *redis.Client) *place {
	name := fmt.Sprintf("%s:%d", t.Name(), names.Add(1))
	return &place{
		t: t, rdb: rdb, made: time.Now(),
		lock: name, token: "redisson_lock_token:{" + name + "}",
		channel: "redisson_lock__channel:{" + name + "}",
	}
}

// acquireFor is an acquisition whose token's key is to live for some time.
func (p *place) acquireFor(fenceTTL int64) *luacall.Call[luacall.AcquireReply] {
	return luacall.Acquire(luacall.AcquireArgs{
		Lock: p.lock, Token: p.token, ID: alice, Lease: lease, NotAfter: never, FenceTTL: fenceTTL,
	})
}

// mint takes the lock for a token, and lets go.
func (p *place) mint(fenceTTL int64) luacall.AcquireReply {
	p.t.Helper()
	reply := run(p, p.acquireFor(fenceTTL))
	// A bundle leaves a token that is no number of Lua's to a second call, which finds it minted.
	require.Contains(p.t, []luacall.Status{luacall.Held, luacall.Already}, reply.Status)
	run(p, p.release(alice))
	return reply
}

// everywhere runs the test on a real server and on miniredis, and on both with calls in bundles where they
// can be: whatever a call comes to by itself it comes to in a bundle.
func everywhere(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	onRedis(t, test)
	inBundlesToo(t, "miniredis", onMiniredis, test)
}

func onMiniredis(t *testing.T) *place {
	rdb := redis.NewClient(&redis.Options{Addr: embedded.Miniredis(t).Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	p := newPlace(t, rdb)
	p.mini = true
	return p
}

// onRedis is everywhere but on miniredis, whose keys do not age by themselves.
func onRedis(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	inBundlesToo(t, "redis", func(t *testing.T) *place { return newPlace(t, redistest.Shared(t).Client(t)) }, test)
}

func inBundlesToo(t *testing.T, where string, there func(*testing.T) *place, test func(*testing.T, *place)) {
	t.Run(where, func(t *testing.T) { test(t, there(t)) })
	t.Run(where+" in bundles", func(t *testing.T) {
		p := there(t)
		p.conn = &bundling{t: t, rdb: p.rdb}
		test(t, p)
	})
}

// over is what calls are sent over.
func (p *place) over() luacall.Conn {
	if p.conn != nil {
		return p.conn
	}
	return p.rdb
}

// run sends the call and fails the test if it fails.
func run[R any](p *place, call *luacall.Call[R]) R {
	p.t.Helper()
	reply, err := call.Run(p.t.Context(), p.over())
	require.NoError(p.t, err)
	return reply
}

// conflict sends the call and fails the test if its answer is anything but a conflict.
func conflict[R any](p *place, call *luacall.Call[R]) {
	p.t.Helper()
	_, err := call.Run(p.t.Context(), p.over())
	require.ErrorIs(p.t, err, luacall.ErrConflict)
	var reply redis.Error
	require.ErrorAs(p.t, err, &reply, "the error of Redis is still in it")
}

func (p *place) acquire(id string) *luacall.Call[luacall.AcquireReply] {
	return luacall.Acquire(luacall.AcquireArgs{
		Lock: p.lock, Token: p.token, ID: id,
		Lease: lease, NotAfter: never, FenceTTL: fenceTTL,
	})
}

func (p *place) release(id string) *luacall.Call[luacall.ReleaseReply] {
	return luacall.Release(luacall.ReleaseArgs{Lock: p.lock, ID: id, Channel: p.channel})
}

func (p *place) levels(id string, from, to int64) *luacall.Call[int64] {
	return luacall.Levels(p.lock, id, from, to)
}

func (p *place) mintFor(id string) *luacall.Call[luacall.AcquireReply] {
	return luacall.Mint(luacall.MintArgs{Lock: p.lock, Token: p.token, ID: id, NotAfter: never, FenceTTL: -1})
}

func (p *place) adopt(from, to string) *luacall.Call[luacall.AcquireReply] {
	return luacall.Adopt(luacall.AdoptArgs{
		Lock: p.lock, From: from, To: to, Lease: lease, NotAfter: never,
	})
}

func (p *place) renew(id string, ttl int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.Renew([]string{p.lock}, []string{id}, []int64{ttl})
}

func (p *place) inspect() *luacall.Call[luacall.InspectReply] {
	return luacall.Inspect(p.lock, p.token, p.channel, false)
}

// do runs one plain command, written as for redis-cli. Arguments have no spaces.
func (p *place) do(format string, args ...any) any {
	p.t.Helper()
	var words []any
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		words = append(words, word)
	}
	value, err := p.rdb.Do(context.Background(), words...).Result()
	require.NoError(p.t, err)
	return value
}

// sharding tells whether the server has sharded channels: Redis from 7 on has.
func (p *place) sharding() bool {
	return !p.mini && p.rdb.PubSubShardNumSub(context.Background(), "x").Err() == nil
}

// holds asserts the whole hash: its fields and its TTL in ms.
func (p *place) holds(fields map[string]string, ttl int64) {
	p.t.Helper()
	require.Equal(p.t, fields, p.rdb.HGetAll(context.Background(), p.lock).Val())
	p.lives(p.lock, ttl)
}

// heldOnce asserts that id holds the lock, without nesting.
func (p *place) heldOnce(id string) {
	p.t.Helper()
	p.holds(map[string]string{id: "1"}, lease)
}

// lives asserts a TTL in ms that the key was given since the place was made, or a second less: some callers say about how
// long it is.
func (p *place) lives(key string, ttl int64) {
	p.t.Helper()
	got, given := p.pttl(key), time.Duration(ttl)*time.Millisecond
	require.LessOrEqual(p.t, got, given)
	require.Greater(p.t, got, given-time.Since(p.made)-time.Second)
}

func (p *place) pttl(key string) time.Duration {
	p.t.Helper()
	ttl, err := p.rdb.PTTL(context.Background(), key).Result()
	require.NoError(p.t, err)
	return ttl
}

func (p *place) free() {
	p.t.Helper()
	require.Zero(p.t, p.rdb.Exists(context.Background(), p.lock).Val())
}

// stored returns the token key's value; 0: there is none.
func (p *place) stored() int64 {
	p.t.Helper()
	n, err := p.rdb.Get(context.Background(), p.token).Int64()
	if err == redis.Nil {
		return 0
	}
	require.NoError(p.t, err)
	return n
}

// now returns the server's time in µs.
func (p *place) now() int64 {
	p.t.Helper()
	now, err := p.rdb.Time(context.Background()).Result()
	require.NoError(p.t, err)
	return now.UnixMicro()
}

// unchanged asserts that act writes nothing to the lock and the token.
func (p *place) unchanged(act func()) {
	p.t.Helper()
	before := p.picture()
	act()
	p.looksLike(before)
}

// picture is what stands at both keys.
func (p *place) picture() map[string]atKey {
	p.t.Helper()
	picture := make(map[string]atKey)
	for _, key := range []string{p.lock, p.token} {
		dump, err := p.rdb.Dump(context.Background(), key).Result()
		if p.mini || err != nil { // miniredis dumps strings only
			dump = fmt.Sprint(p.rdb.Get(context.Background(), key).Val(),
				p.rdb.HGetAll(context.Background(), key).Val())
		}
		at := atKey{dump: dump}
		early := p.clock()
		if ttl := p.pttl(key); ttl >= 0 {
			at.early, at.late = early+ttl.Milliseconds(), p.clock()+ttl.Milliseconds()
		}
		picture[key] = at
	}
	return picture
}

// atKey is what stands at a key. It expires between two instants, of the server's clock in ms: to ask for that
// and for what is left takes two commands. Both are 0 if it does not expire.
type atKey struct {
	dump        string
	early, late int64
}

// clock is what pictures measure expiries by.
func (p *place) clock() int64 {
	if p.mini { // whose keys do not age
		return 1
	}
	return p.now() / 1000
}

// looksLike asserts that both keys are as they were.
func (p *place) looksLike(before map[string]atKey) {
	p.t.Helper()
	for key, now := range p.picture() {
		was := before[key]
		require.Equal(p.t, was.dump, now.dump, key)
		const rounding = 1 // ms, of TTL and clock each
		require.LessOrEqual(p.t, was.early, now.late+2*rounding, "%s expires earlier", key)
		require.LessOrEqual(p.t, now.early, was.late+2*rounding, "%s expires later", key)
	}
}
