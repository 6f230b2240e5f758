package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func (p *rwPlace) rewrite(id string, count, op, ttl int64) *luacall.Call[luacall.StepReply] {
	return luacall.ReenterWrite(p.step(id, count, op, ttl))
}

func (p *rwPlace) leaveWrite(id string, count, op, ttl int64) *luacall.Call[luacall.StepReply] {
	return luacall.LeaveWrite(luacall.LeaveArgs(p.step(id, count, op, ttl)))
}

func TestRWLevelsOfAReader(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 2, 1, lease)).Status)
		p.is("read", alice, "2")
		p.holdKeys(alice, 2, lease)
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 4, 2, lease)).Status, "one was withdrawn")
		p.is("read", alice, "4")
		p.holdKeys(alice, 4, lease)
		require.Equal(t, luacall.Done, run(p.place, p.leaveRead(alice, 1, 3, lease)).Status)
		p.is("read", alice, "1")
		p.holdKeys(alice, 1, lease)
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 2, 4, lease)).Status)
		require.Equal(t, luacall.Done, run(p.place, p.unread(alice)).Status)
		p.clean()
	})
}

func TestRWLevelsOfAWriter(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		require.Equal(t, luacall.Done, run(p.place, p.rewrite(alice, 2, 1, lease)).Status)
		p.is("write", alice+":write", "2:1") // no other field may stand in the hash
		require.Equal(t, luacall.Done, run(p.place, p.leaveWrite(alice, 1, 2, lease)).Status)
		p.is("write", alice+":write", "1:2")
		require.EqualValues(t, 1, p.look(true).Holders[0].Count)
		require.Equal(t, luacall.Done, run(p.place, p.unwrite(alice)).Status)
		p.clean()
	})
}

// An inner lease may lengthen what stands, and the end of its level takes that back; it never shortens what
// others need (bug 45; Redisson's D3 and D11).
func TestRWLeasesOfLevels(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		run(p.place, p.reread(alice, 2, 1, 1000))
		p.holdKeys(alice, 2, lease)
		run(p.place, p.reread(alice, 3, 2, 2*lease))
		p.holdKeys(alice, 3, 2*lease)
		p.lives(p.lock, 2*lease)
		run(p.place, p.leaveRead(alice, 2, 3, lease))
		p.holdKeys(alice, 2, lease)
		p.lives(p.lock, lease)

		run(p.place, p.readFor(bob, 3*lease))
		run(p.place, p.leaveRead(alice, 1, 4, 1000))
		p.holdKeys(alice, 1, 1000)
		p.lives(p.lock, 3*lease)
		p.holdKeys(bob, 1, 3*lease)
	})
}

func TestRWLeasesInsideAWrite(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		short := p.readArgs(bob)
		short.Under, short.Lease = alice, 1000
		run(p.place, luacall.AcquireRead(short))
		p.lives(p.lock, lease)
		run(p.place, p.reread(bob, 2, 1, 1000))
		run(p.place, p.leaveRead(bob, 1, 2, 1000))
		p.lives(p.lock, lease)
		run(p.place, p.unread(bob))
		p.lives(p.lock, lease)

		long := p.readArgs(carol)
		long.Under, long.Lease = alice, 2*lease
		run(p.place, luacall.AcquireRead(long))
		p.lives(p.lock, 2*lease)
		run(p.place, p.rewrite(alice, 2, 1, lease))
		run(p.place, p.leaveWrite(alice, 1, 2, 1000))
		p.lives(p.lock, 2*lease)
		run(p.place, p.unwrite(alice))
		p.lives(p.lock, 2*lease)
		p.holdKeys(carol, 1, 2*lease)
	})
}

func TestRWAWritersInnerLeaseIsTakenBack(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		run(p.place, p.rewrite(alice, 2, 1, 2*lease))
		p.lives(p.lock, 2*lease)
		run(p.place, p.leaveWrite(alice, 1, 2, lease))
		p.lives(p.lock, lease)
	})
}

func TestRWStepsResentLateOrOfAHoldThatIsGone(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		enter, leave := p.reread(alice, 2, 1, 10*lease), p.leaveRead(alice, 1, 2, 1000)
		run(p.place, enter)
		p.still(func() { require.Equal(t, luacall.Already, run(p.place, enter).Status) })
		run(p.place, leave)
		run(p.place, p.reread(alice, 2, 3, 5*lease))
		p.still(func() {
			require.Equal(t, luacall.Already, run(p.place, enter).Status)
			require.Equal(t, luacall.Already, run(p.place, leave).Status)
		})
		run(p.place, p.unread(alice))
		p.still(func() {
			require.Equal(t, luacall.Gone, run(p.place, enter).Status)
			require.Equal(t, luacall.Gone, run(p.place, leave).Status)
		})

		run(p.place, p.write(alice))
		enter, leave = p.rewrite(alice, 2, 1, 10*lease), p.leaveWrite(alice, 1, 2, 1000)
		run(p.place, enter)
		run(p.place, leave)
		run(p.place, p.rewrite(alice, 2, 3, 5*lease))
		p.still(func() {
			require.Equal(t, luacall.Already, run(p.place, enter).Status)
			require.Equal(t, luacall.Already, run(p.place, leave).Status)
		})
		run(p.place, p.unwrite(alice))
		run(p.place, p.write(bob))
		p.still(func() {
			require.Equal(t, luacall.Gone, run(p.place, enter).Status)
			require.Equal(t, luacall.Gone, run(p.place, leave).Status)
		})
	})
}

// A reader whose hold key is gone is dead, whatever its field says.
func TestRWNothingBringsADeadReaderBack(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		run(p.place, p.read(bob))
		p.kill(alice)
		p.still(func() {
			require.Equal(t, luacall.Gone, run(p.place, p.reread(alice, 2, 1, lease)).Status)
			require.Equal(t, luacall.Gone, run(p.place, p.leaveRead(alice, 1, 1, lease)).Status)
			require.Equal(t, []luacall.RenewStatus{luacall.RenewGone}, run(p.place, p.renewRead(alice, lease)))
		})
		require.Equal(t, luacall.Gone, run(p.place, p.unread(alice)).Status)
		p.is("read", bob, "1")
	})
}

// A TTL of 0 leaves every TTL as it is, also that of a key that lost it; new hold keys get what the first one has.
func TestRWCountsWithoutATTL(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		require.Equal(t, luacall.Done, run(p.place, p.rewrite(alice, 3, 1, 0)).Status)
		p.is("write", alice+":write", "3:1")
		p.lives(p.lock, lease)
		p.do("PERSIST %s", p.lock)
		require.Equal(t, luacall.Done, run(p.place, p.rewrite(alice, 1, 2, 0)).Status)
		require.Equal(t, "1:2", p.do("HGET %s %s", p.lock, alice+":write"))
		run(p.place, p.unwrite(alice))

		run(p.place, p.read(alice))
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 3, 1, 0)).Status)
		p.is("read", alice, "3")
		p.holdKeys(alice, 3, lease)
		p.lives(p.lock, lease)
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 1, 2, 0)).Status)
		p.is("read", alice, "1")
		p.holdKeys(alice, 1, lease)
		p.do("PERSIST %s", p.lock)
		p.do("PERSIST %s", p.hold(alice, 1))
		require.Equal(t, luacall.Done, run(p.place, p.reread(alice, 2, 3, 0)).Status)
		require.Equal(t, "2", p.do("HGET %s %s", p.lock, alice))
		require.EqualValues(t, 1, p.do("EXISTS %s", p.hold(alice, 1)))
		require.Equal(t, luacall.Done, run(p.place, p.unread(alice)).Status)
		p.clean()
		p.still(func() {
			require.Equal(t, luacall.Gone, run(p.place, p.reread(alice, 2, 4, 0)).Status)
			require.Equal(t, luacall.Gone, run(p.place, p.rewrite(alice, 2, 4, 0)).Status)
		})
		for _, call := range []*luacall.Call[luacall.StepReply]{p.leaveRead(alice, 1, 5, 0), p.leaveWrite(alice, 1, 5, 0)} {
			_, err := call.Run(t.Context(), p.over())
			require.ErrorContains(t, err, "TTL of 0 ms")
		}
	})
}
