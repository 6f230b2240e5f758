package luacall_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestRenew(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.do("PEXPIRE %s 2000", p.lock)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p, p.renew(alice, lease)))
		p.heldOnce(alice)
	})
}

func TestRenewCreatesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		call := p.renew(alice, lease)
		require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p, call))
		p.free()
		run(p, p.acquire(bob))
		p.do("PEXPIRE %s 9000", p.lock)
		require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p, call))
		p.holds(map[string]string{bob: "1"}, 9000)
	})
}

// A renewal that comes late gives the lease once more.
func TestLateRenewalOfANestedHold(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 2))
		p.do("PEXPIRE %s 2000", p.lock)
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p, p.renew(alice, lease)))
		p.holds(map[string]string{alice: "2"}, lease)
	})
}

func TestRenewManyWithBadOnes(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const size = 300
		locks, ids, ttls := make([]string, size), make([]string, size), make([]int64, size)
		want := make([]luacall.RenewStatus, size)
		for i := range size {
			locks[i] = fmt.Sprintf("%s:%d", p.lock, i)
			ids[i], ttls[i], want[i] = alice, lease+int64(i)*1000, luacall.Renewed
			p.do("HSET %s %s 1", locks[i], ids[i])
			p.do("PEXPIRE %s 20000", locks[i])
		}
		p.do("DEL %s", locks[0])
		want[0] = luacall.RenewGone
		p.do("SET %s x", locks[100])
		want[100] = luacall.RenewConflict
		ids[200], want[200] = bob, luacall.RenewGone
		p.do("DEL %s", locks[299])
		p.do("RPUSH %s x", locks[299])
		want[299] = luacall.RenewConflict

		require.Equal(t, want, run(p, luacall.Renew(locks, ids, ttls)))
		for i, status := range want {
			if status == luacall.Renewed {
				p.lives(locks[i], ttls[i])
			}
		}
		require.Equal(t, "x", p.do("GET %s", locks[100]))
		require.LessOrEqual(t, p.pttl(locks[200]), 20*time.Second)
	})
}

func TestRenewWhereRedisRefuses(t *testing.T) {
	p := newPlace(t, nil)
	p.rdb = limited(t, "-pexpire")
	p.do("HSET %s %s 1", p.lock, alice)
	require.Equal(t, []luacall.RenewStatus{luacall.RenewFailed}, run(p, p.renew(alice, lease)))

	p.rdb = limited(t, "-hmget")
	require.Equal(t, []luacall.RenewStatus{luacall.RenewFailed}, run(p, p.renew(alice, lease)))
}
