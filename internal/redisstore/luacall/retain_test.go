package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func (p *place) retain(id, as string, until int64) *luacall.Call[luacall.ReleaseReply] {
	return luacall.Retain(luacall.RetainArgs{
		Lock: p.lock, ID: id, As: as, Until: until, Most: 3_600_000, Channel: p.channel,
	})
}

// The hold is over and the lock is not free: whatever its owner sent before changes nothing any more.
func TestKeep(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		run(p, p.acquire(alice))
		run(p, p.levels(alice, 1, 7))
		token := p.stored()
		got := run(p, p.retain(alice, carol, p.now()+10_000_000))
		require.Equal(t, luacall.Done, got.Status)
		require.Equal(t, int64(1), got.Receivers)
		require.Positive(t, got.Now)
		p.holds(map[string]string{carol: "1"}, 10_000)

		p.unchanged(func() {
			require.Equal(t, luacall.Gone, run(p, p.retain(alice, bob, p.now()+20_000_000)).Status, "a copy")
			require.Equal(t, luacall.Gone, run(p, p.release(alice)).Status)
			require.Zero(t, run(p, p.levels(alice, 7, 3)))
			require.NotEqual(t, luacall.Renewed, run(p, p.renew(alice, 10*lease))[0])
			require.Equal(t, luacall.Busy, run(p, p.acquire(bob)).Status)
		})
		require.Equal(t, token, p.stored())
		run(p, p.release(carol)) // as Break does
		p.free()
		require.Equal(t, []string{"0", "0"}, heard(), "waiters learn how little is left, and that it was broken")
	})
}

func TestKeepUntilATimeThatIsOver(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		heard := p.listen(false)
		run(p, p.acquire(alice))
		require.Equal(t, luacall.Done, run(p, p.retain(alice, carol, p.now()-1)).Status)
		p.free()
		require.Equal(t, []string{"0"}, heard())
		require.Equal(t, luacall.Gone, run(p, p.retain(alice, carol, p.now()+10_000_000)).Status)
		p.free()
	})
}

// A clock that was set back since the end was named would come to it by that step later: there is a bound from now on
// (defect G56).
func TestALockIsKeptForNoLongerThanSaid(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		got := run(p, luacall.Retain(luacall.RetainArgs{
			Lock: p.lock, ID: alice, As: carol, Until: p.now() + 3_600_000_000, Most: 2_000, Channel: p.channel,
		}))
		require.Equal(t, luacall.Done, got.Status)
		p.holds(map[string]string{carol: "1"}, 2_000)
	})
}

// The lock ends by itself.
func TestKeptLockEnds(t *testing.T) {
	onRedis(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		until := p.now() + 50_000
		run(p, p.retain(alice, carol, until))
		require.Eventually(t, func() bool {
			now := p.now()
			if p.do("EXISTS %s", p.lock) == int64(1) {
				return false
			}
			return now >= until-1_000
		}, 10*time.Second, time.Millisecond)
		require.Equal(t, luacall.Held, run(p, p.acquire(bob)).Status)
	})
}

func TestKeepRefusesArguments(t *testing.T) {
	p := newPlace(t, nil)
	for _, call := range []*luacall.Call[luacall.ReleaseReply]{
		p.retain(alice, alice, 1), p.retain(alice, "x", 1), p.retain("x", alice, 1), p.retain(alice, bob, 0),
		p.retain(alice, bob, 1<<54),
	} {
		_, err := call.Run(t.Context(), nil)
		require.ErrorContains(t, err, "lua: retain: ")
	}
}
