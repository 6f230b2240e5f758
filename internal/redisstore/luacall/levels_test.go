package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLevels(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		stands := int64(1)
		for _, to := range []int64{2, 5, 4, 4, 1, 1 << 53, 1} {
			require.Equal(t, to, run(p, p.levels(alice, stands, to)))
			stands = to
		}
		p.heldOnce(alice)
	})
}

// A step from a count that does not stand changes nothing, and says what stands: so a second copy does not count, and
// a client without an answer asks again.
func TestLevelsFromAnotherCount(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		enter := p.levels(alice, 1, 2)
		require.EqualValues(t, 2, run(p, enter))
		p.unchanged(func() {
			require.EqualValues(t, 2, run(p, enter), "a resend")
			require.EqualValues(t, 2, run(p, p.levels(alice, 1, 1)), "a question")
			require.EqualValues(t, 2, run(p, p.levels(alice, 3, 1)))
		})
		require.EqualValues(t, 1, run(p, p.levels(alice, 2, 1)))
		require.EqualValues(t, 2, run(p, enter), "a copy that comes late counts once more")
		require.EqualValues(t, 2, run(p, p.levels(alice, 1, 3)), "and the next step is told so")
		run(p, p.release(alice))
		p.free()
	})
}

// A step makes nothing, and no lock without expiry: not where there is none, and not in another's.
func TestLevelsOfAHoldThatIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		enter := p.levels(alice, 1, 2)
		gone := func() {
			p.unchanged(func() { require.Zero(t, run(p, enter)) })
		}
		gone()
		p.free()
		run(p, p.acquire(alice))
		p.do("DEL %s", p.lock)
		gone()
		p.free()
		run(p, p.acquire(bob))
		gone()
		p.heldOnce(bob)
	})
}

// It leaves every TTL as it is, also that of a lock that lost it.
func TestLevelsChangeNoLease(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.do("PEXPIRE %s 5000", p.lock)
		require.EqualValues(t, 2, run(p, p.levels(alice, 1, 2)))
		p.holds(map[string]string{alice: "2"}, 5000)
		p.do("PERSIST %s", p.lock)
		require.EqualValues(t, 3, run(p, p.levels(alice, 2, 3)))
		require.Negative(t, p.pttl(p.lock))
	})
}
