package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestInspectFreeLock(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		got := run(p, p.inspect())
		require.Negative(t, got.PTTL)
		require.Empty(t, got.Holders)
		require.Zero(t, got.Fence)
		require.Zero(t, got.Subscribers)
	})
}

func TestInspectHeldLock(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		p.listen(false)
		p.listen(false)
		fence := run(p, p.acquire(alice)).Fence
		p.unchanged(func() {
			got := run(p, p.inspect())
			require.InDelta(t, 30*time.Second, got.PTTL, float64(time.Second))
			require.Equal(t, []luacall.Holder{{ID: alice, Count: 1}}, got.Holders)
			require.Equal(t, fence, got.Fence)
			require.Equal(t, int64(2), got.Subscribers)
		})
		run(p, p.levels(alice, 1, 5))
		require.Equal(t, []luacall.Holder{{ID: alice, Count: 5}}, run(p, p.inspect()).Holders)
	})
}

func TestInspectWithoutToken(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		got := run(p, luacall.Inspect(p.lock, "", p.channel, false))
		require.Equal(t, []luacall.Holder{{ID: alice, Count: 1}}, got.Holders)
		require.Zero(t, got.Fence)
	})
}

func TestInspectShardedSubscribers(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		call := luacall.Inspect(p.lock, p.token, p.channel, true)
		if !p.sharding() {
			require.Equal(t, int64(-1), run(p, call).Subscribers)
			return
		}
		p.listen(true)
		require.Equal(t, int64(1), run(p, call).Subscribers)
	})
}

func TestInspectALockForAges(t *testing.T) {
	onRedis(t, func(t *testing.T, p *place) {
		p.do("HSET %s %s 1", p.lock, alice)
		p.do("PEXPIRE %s 20000000000000", p.lock) // 634 years
		require.Greater(t, run(p, p.inspect()).PTTL, 290*365*24*time.Hour)
	})
}
