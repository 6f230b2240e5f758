package luacall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// nested returns the fields of a hold that nested.
func nested(id, count, op string) map[string]string {
	return map[string]string{id: count, id + ":n": op}
}

func TestReenterAndLeave(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, 2, 1, lease)).Status)
		p.holds(nested(alice, "2", "1"), lease)
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, 3, 2, lease)).Status)
		p.holds(nested(alice, "3", "2"), lease)
		require.Equal(t, luacall.Done, run(p, p.leave(alice, 2, 3, lease)).Status)
		p.holds(nested(alice, "2", "3"), lease)
		require.Equal(t, luacall.Done, run(p, p.leave(alice, 1, 4, lease)).Status)
		p.holds(nested(alice, "1", "4"), lease)
		require.Equal(t, luacall.Done, run(p, p.release(alice)).Status)
		p.free()
	})
}

func TestReenterOnlyLengthens(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		run(p, p.reenter(alice, 2, 1, 1000))
		p.holds(nested(alice, "2", "1"), lease)
		run(p, p.reenter(alice, 3, 2, 2*lease))
		p.holds(nested(alice, "3", "2"), 2*lease)
	})
}

func TestReenterGivesALostExpiryBack(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		p.do("PERSIST %s", p.lock)
		run(p, p.reenter(alice, 2, 1, lease))
		p.holds(nested(alice, "2", "1"), lease)
	})
}

func TestLeaveSetsTheLeaseThatIsLeft(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		run(p, p.reenter(alice, 2, 1, 10*lease))
		p.holds(nested(alice, "2", "1"), 10*lease)
		run(p, p.leave(alice, 1, 2, lease))
		p.holds(nested(alice, "1", "2"), lease)
	})
}

func TestStepsResentOrLate(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		enter, leave := p.reenter(alice, 2, 1, 10*lease), p.leave(alice, 1, 2, 1000)
		require.Equal(t, luacall.Done, run(p, enter).Status)
		p.unchanged(func() {
			require.Equal(t, luacall.Already, run(p, enter).Status, "a resend")
		})
		require.Equal(t, luacall.Done, run(p, leave).Status)
		p.unchanged(func() {
			require.Equal(t, luacall.Already, run(p, leave).Status, "a resend")
			require.Equal(t, luacall.Already, run(p, enter).Status, "it neither counts nor lengthens")
		})
		run(p, p.reenter(alice, 2, 3, 5*lease))
		p.unchanged(func() {
			require.Equal(t, luacall.Already, run(p, leave).Status, "it does not cut the new lease")
		})
		p.holds(nested(alice, "2", "3"), 5*lease)
	})
}

func TestStepsOfAHoldThatIsGone(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		enter, leave := p.reenter(alice, 2, 1, lease), p.leave(alice, 1, 2, lease)
		gone := func() {
			p.unchanged(func() {
				require.Equal(t, luacall.Gone, run(p, enter).Status)
				require.Equal(t, luacall.Gone, run(p, leave).Status)
			})
		}
		gone()
		p.free()
		run(p, p.acquire(bob))
		gone()
		run(p, p.reenter(bob, 2, 5, lease))
		gone()
		p.holds(nested(bob, "2", "5"), lease)
	})
}

func TestStepsWithTheLargestNumbers(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		const op, count = int64(1 << 53), int64(1<<31 - 1)
		run(p, p.acquire(alice))
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, count, op-1, lease)).Status)
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, count, op, lease)).Status)
		require.Equal(t, luacall.Already, run(p, p.reenter(alice, count, op, lease)).Status)
		p.holds(nested(alice, "2147483647", "9007199254740992"), lease)
	})
}

// A TTL of 0 leaves every TTL as it is, also that of a lock that lost it: such a step writes the count alone.
func TestACountWithoutATTL(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		run(p, p.acquire(alice))
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, 5, 1, 0)).Status)
		p.holds(nested(alice, "5", "1"), lease)
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, 1, 2, 0)).Status)
		p.holds(nested(alice, "1", "2"), lease)
		p.unchanged(func() { require.Equal(t, luacall.Already, run(p, p.reenter(alice, 5, 1, 0)).Status) })
		p.do("PERSIST %s", p.lock)
		require.Equal(t, luacall.Done, run(p, p.reenter(alice, 2, 3, 0)).Status)
		require.Equal(t, time.Duration(-1), p.pttl(p.lock))
		require.Equal(t, luacall.Done, run(p, p.release(alice)).Status)
		p.free()
		p.unchanged(func() { require.Equal(t, luacall.Gone, run(p, p.reenter(alice, 3, 4, 0)).Status) })
		_, err := p.leave(alice, 1, 5, 0).Run(t.Context(), p.over())
		require.ErrorContains(t, err, "TTL of 0 ms")
	})
}
