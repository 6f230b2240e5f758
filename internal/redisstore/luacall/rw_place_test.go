package luacall_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// gateTTL is long for a test, so that a gate does not open by itself.
const gateTTL = int64(20_000)

// rwPlace is a read-write lock of one test on one server.
type rwPlace struct {
	*place
	gate, base string
}

func newRWPlace(t testing.TB, rdb *redis.Client) *rwPlace {
	p := &rwPlace{place: newPlace(t, rdb)}
	p.base = "{" + p.lock + "}:"
	p.gate = "holdfast_gate:{" + p.lock + "}"
	p.channel = "redisson_rwlock:{" + p.lock + "}"
	return p
}

// rwEverywhere runs the test on a real server and on miniredis.
func rwEverywhere(t *testing.T, test func(t *testing.T, p *rwPlace)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		test(t, newRWPlace(t, redistest.Shared(t).Client(t)))
	})
	t.Run("miniredis", func(t *testing.T) {
		rdb := redis.NewClient(&redis.Options{Addr: embedded.Miniredis(t).Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		p := newRWPlace(t, rdb)
		p.mini = true
		test(t, p)
	})
}

// hold is a reader's hold key of a level.
func (p *rwPlace) hold(id string, level int) string {
	return fmt.Sprint(p.base, id, ":rwlock_timeout:", level)
}

func (p *rwPlace) writeArgs(id string) luacall.AcquireWriteArgs {
	return luacall.AcquireWriteArgs{
		AcquireArgs: luacall.AcquireArgs{
			Lock: p.lock, Token: p.token, ID: id, Lease: lease, NotAfter: never, FenceTTL: fenceTTL,
		},
		Gate: p.gate, Base: p.base, GateTTL: gateTTL,
	}
}

func (p *rwPlace) write(id string) *luacall.Call[luacall.AcquireWriteReply] {
	return luacall.AcquireWrite(p.writeArgs(id))
}

func (p *rwPlace) readArgs(id string) luacall.AcquireReadArgs {
	return luacall.AcquireReadArgs{
		Lock: p.lock, Hold: p.hold(id, 1), Gate: p.gate, Token: p.token,
		ID: id, Lease: lease, NotAfter: never, FenceTTL: fenceTTL,
	}
}

func (p *rwPlace) read(id string) *luacall.Call[luacall.AcquireReply] {
	return luacall.AcquireRead(p.readArgs(id))
}

func (p *rwPlace) readFor(id string, lease int64) *luacall.Call[luacall.AcquireReply] {
	a := p.readArgs(id)
	a.Lease = lease
	return luacall.AcquireRead(a)
}

func (p *rwPlace) readUnder(id, writer string) *luacall.Call[luacall.AcquireReply] {
	a := p.readArgs(id)
	a.Under = writer
	return luacall.AcquireRead(a)
}

func (p *rwPlace) releaseArgs(id, other string) luacall.ReleaseRWArgs {
	return luacall.ReleaseRWArgs{
		ReleaseArgs: luacall.ReleaseArgs{Lock: p.lock, ID: id, Channel: p.channel},
		Other:       other, Base: p.base,
	}
}

func (p *rwPlace) unread(id string) *luacall.Call[luacall.ReleaseReply] {
	return luacall.ReleaseRead(p.releaseArgs(id, p.hold(id, 1)))
}

func (p *rwPlace) unwrite(id string) *luacall.Call[luacall.ReleaseReply] {
	return luacall.ReleaseWrite(p.releaseArgs(id, p.gate))
}

// deepen makes a reader one of so many levels, with a hold key for each, as Redisson's are.
func (p *rwPlace) deepen(id string, levels int) {
	p.t.Helper()
	p.do("HSET %s %s %d", p.lock, id, levels)
	for level := 2; level <= levels; level++ {
		p.do("SET %s 1 PX %d", p.hold(id, level), lease)
	}
}

func (p *rwPlace) renewRead(id string, ttl int64) *luacall.Call[[]luacall.RenewStatus] {
	return luacall.RenewRead([]string{p.lock}, []string{p.hold(id, 1)}, []string{id}, []int64{ttl})
}

func (p *rwPlace) look(write bool) luacall.InspectReply {
	p.t.Helper()
	return run(p.place, luacall.InspectRW(luacall.InspectRWArgs{
		Lock: p.lock, Token: p.token, Channel: p.channel, Base: p.base, Write: write,
	}))
}

// writeOver is an attempt of a writer as the protocol makes it: who looks dead is named.
func (p *rwPlace) writeOver(id string) luacall.AcquireWriteReply {
	p.t.Helper()
	reply := run(p.place, p.write(id))
	if reply.Dead != nil {
		a := p.writeArgs(id)
		a.Dead = reply.Dead
		reply = run(p.place, luacall.AcquireWrite(a))
	}
	return reply
}

// kill makes a reader dead: its hold keys are gone, as they are when its leases are over.
func (p *rwPlace) kill(id string) {
	p.t.Helper()
	for level := 1; level <= 3; level++ {
		p.do("DEL %s", p.hold(id, level))
	}
}

// is asserts the whole hash.
func (p *rwPlace) is(mode string, fields ...string) {
	p.t.Helper()
	want := map[string]string{"mode": mode}
	for i := 0; i < len(fields); i += 2 {
		want[fields[i]] = fields[i+1]
	}
	require.Equal(p.t, want, p.rdb.HGetAll(context.Background(), p.lock).Val())
	require.Positive(p.t, p.pttl(p.lock), "a lock has an expiry")
}

// holdKeys asserts how many hold keys a reader has, that they are the first ones, and their TTL.
func (p *rwPlace) holdKeys(id string, many int, ttl int64) {
	p.t.Helper()
	for level := 1; level <= many; level++ {
		p.lives(p.hold(id, level), ttl)
	}
	require.Zero(p.t, p.rdb.Exists(context.Background(), p.hold(id, many+1)).Val())
}

// clean asserts that nothing of the lock is left but its token.
func (p *rwPlace) clean() {
	p.t.Helper()
	for _, key := range p.rdb.Keys(context.Background(), "*").Val() {
		if strings.Contains(key, p.lock) {
			require.Equal(p.t, p.token, key)
		}
	}
}

// still asserts that act writes nothing to the lock, the token, the gate and the hold keys.
func (p *rwPlace) still(act func()) {
	p.t.Helper()
	others := []string{p.gate}
	for _, id := range []string{alice, bob, carol} {
		others = append(others, p.hold(id, 1), p.hold(id, 2))
	}
	picture := func() (texts []string) {
		for _, key := range others {
			texts = append(texts, fmt.Sprint(key, " ", p.rdb.Get(context.Background(), key).Val()))
		}
		return texts
	}
	before := picture()
	p.unchanged(act)
	require.Equal(p.t, before, picture())
}
