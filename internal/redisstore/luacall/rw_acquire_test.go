package luacall_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestRWOneWriterOrManyReaders(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		got := run(p.place, p.write(alice))
		require.Equal(t, luacall.Held, got.Status)
		require.Positive(t, got.Fence)
		p.is("write", alice+":write", "1")
		p.lives(p.lock, lease)
		p.still(func() {
			for _, reply := range []luacall.AcquireReply{
				run(p.place, p.write(bob)).AcquireReply, run(p.place, p.read(bob)),
			} {
				require.Equal(t, luacall.Busy, reply.Status)
				require.InDelta(t, lease, reply.PTTL.Milliseconds(), 1000)
			}
		})
		require.Equal(t, luacall.Done, run(p.place, p.unwrite(alice)).Status)
		p.clean()

		for i, id := range []string{alice, bob, carol} {
			reply := run(p.place, p.read(id))
			require.Equal(t, luacall.Held, reply.Status, i)
			require.Equal(t, got.Fence, reply.Fence, "readers carry the last writer's token")
			p.holdKeys(id, 1, lease)
		}
		p.is("read", alice, "1", bob, "1", carol, "1")
		require.Equal(t, luacall.Busy, run(p.place, p.write("d:1")).Status)
	})
}

// A reader of a name without a token, which is new or whose token was lost, gets one from the clock, as a writer would:
// above all writers that were, and below the next one (defect G46).
func TestRWAReaderMintsATokenWhereNoneIsStored(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		last := run(p.place, p.write(alice)).Fence
		run(p.place, p.unwrite(alice))
		p.do("DEL %s", p.token)

		first := run(p.place, p.read(alice)).Fence
		require.Greater(t, first, last)
		require.Equal(t, first, p.stored())
		p.lives(p.token, fenceTTL*5/4)
		require.Equal(t, first, run(p.place, p.read(alice)).Fence, "as a resend reads it")
		require.Equal(t, first, run(p.place, p.read(bob)).Fence, "readers do not mint where there is one")
		run(p.place, p.unread(alice))
		run(p.place, p.unread(bob))

		next := run(p.place, p.write(carol))
		require.Greater(t, next.Fence-next.Spare, first, "nothing is spare that a reader had")
		run(p.place, p.unwrite(carol))

		p.do("DEL %s", p.token)
		forever := p.readArgs(alice)
		forever.FenceTTL = -1
		require.Greater(t, run(p.place, luacall.AcquireRead(forever)).Fence, next.Fence)
		require.Equal(t, int64(-1), int64(p.pttl(p.token)), "it has no expiry")
	})
}

// Inside a write a reader has that one's token, so it mints none.
func TestRWAReaderInsideAWriteMintsNoToken(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		p.do("DEL %s", p.token)
		require.True(t, run(p.place, p.readUnder(bob, alice)).Inside)
		require.Zero(t, p.rdb.Exists(t.Context(), p.token).Val())
	})
}

// A reader that is refused writes no token.
func TestRWARefusedReaderMintsNoToken(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		p.do("SET %s %s PX %d", p.gate, alice, gateTTL)
		require.Equal(t, luacall.Busy, run(p.place, p.read(bob)).Status)
		p.do("DEL %s", p.gate)
		run(p.place, p.write(alice))
		p.do("DEL %s", p.token)
		require.Equal(t, luacall.Busy, run(p.place, p.read(bob)).Status)
		require.Zero(t, p.rdb.Exists(t.Context(), p.token).Val())
	})
}

func TestRWWritersTokensGrow(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		var last int64
		for i := range 5 {
			fence := run(p.place, p.write(fmt.Sprint("w:", i))).Fence
			require.Greater(t, fence, last)
			require.Equal(t, fence, p.stored())
			last = fence
			run(p.place, p.unwrite(fmt.Sprint("w:", i)))
		}
	})
}

func TestRWCopiesOfAnAcquisition(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		first := run(p.place, p.write(alice))
		p.still(func() {
			again := run(p.place, p.write(alice))
			require.Equal(t, luacall.Already, again.Status)
			require.Equal(t, first.Fence, again.Fence)
		})
		run(p.place, p.unwrite(alice))
		run(p.place, p.read(bob))
		p.still(func() {
			again := run(p.place, p.read(bob))
			require.Equal(t, luacall.Already, again.Status)
			require.Equal(t, first.Fence, again.Fence)
		})
	})
}

func TestRWLateAcquisitionsWriteNothing(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		write, read := p.writeArgs(alice), p.readArgs(alice)
		write.NotAfter, read.NotAfter = p.now()-1, p.now()-1
		p.still(func() {
			require.Equal(t, luacall.TooLate, run(p.place, luacall.AcquireWrite(write)).Status)
			require.Equal(t, luacall.TooLate, run(p.place, luacall.AcquireRead(read)).Status)
		})
		p.clean()
	})
}

// A read hold inside a write hold has an id of its own: with the writer's, a late release of one would end
// the next (bug 45's family; the interleaving was found in review).
func TestRWAReadInsideAWrite(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		held := run(p.place, p.readUnder(bob, alice))
		require.Equal(t, luacall.Held, held.Status)
		require.True(t, held.Inside)
		again := run(p.place, p.readUnder(bob, alice))
		require.Equal(t, luacall.Already, again.Status)
		require.True(t, again.Inside)
		p.is("write", alice+":write", "1", bob, "1")
		require.Equal(t, luacall.Busy, run(p.place, p.readUnder(carol, "another:1")).Status,
			"not with any writer's id")
		late := p.unread(bob)
		require.Equal(t, luacall.Done, run(p.place, late).Status)
		run(p.place, p.readUnder(carol, alice))
		p.still(func() {
			require.Equal(t, luacall.Gone, run(p.place, late).Status, "a copy of the first one's release")
		})
		p.is("write", alice+":write", "1", carol, "1")
		require.Equal(t, luacall.Done, run(p.place, p.unwrite(alice)).Status)
		p.is("read", carol, "1")
		again = run(p.place, p.readUnder(carol, alice))
		require.Equal(t, luacall.Already, again.Status)
		require.False(t, again.Inside, "the write is over")
		require.Equal(t, luacall.Busy, run(p.place, p.write(bob)).Status)
	})
}

// A reader that comes from a write hold which Redis does not have any more is treated like any other.
func TestRWAReadInsideAWriteThatIsGone(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		held := run(p.place, p.readUnder(alice, bob))
		require.Equal(t, luacall.Held, held.Status)
		require.False(t, held.Inside)
		p.is("read", alice, "1")
		run(p.place, p.unread(alice))
		run(p.place, p.write(carol))
		require.Equal(t, luacall.Busy, run(p.place, p.readUnder(alice, bob)).Status)
	})
}

func TestRWAWaitingWriterShutsTheGate(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		require.Equal(t, luacall.Busy, run(p.place, p.write(bob)).Status)
		p.lives(p.gate, gateTTL)
		p.still(func() {
			reply := run(p.place, p.read(carol))
			require.Equal(t, luacall.Busy, reply.Status, "a reader that comes now waits")
			require.InDelta(t, gateTTL, reply.PTTL.Milliseconds(), 1000, "as long as the gate is shut")
		})
		require.Equal(t, luacall.Already, run(p.place, p.read(alice)).Status, "who is in stays in")
		run(p.place, p.unread(alice))
		require.Equal(t, luacall.Busy, run(p.place, p.read(carol)).Status, "the writer is first")
		require.Equal(t, luacall.Held, run(p.place, p.write(bob)).Status)
		require.Equal(t, time.Duration(-2), p.pttl(p.gate), "the gate served")
		run(p.place, p.unwrite(bob))
		require.Equal(t, luacall.Held, run(p.place, p.read(carol)).Status)
	})
}

func TestRWAWriterThatDoesNotWaitShutsNothing(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		a := p.writeArgs(bob)
		a.GateTTL = 0
		p.still(func() { require.Equal(t, luacall.Busy, run(p.place, luacall.AcquireWrite(a)).Status) })
		require.Equal(t, luacall.Held, run(p.place, p.read(carol)).Status)
	})
}

func TestRWAWriterThatGivesUpOpensItsGateOnly(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(alice))
		run(p.place, p.write(bob))
		heard := p.listen(false)
		p.still(func() { require.Equal(t, luacall.Gone, run(p.place, p.unwrite(carol)).Status) })
		require.Equal(t, luacall.Gone, run(p.place, p.unwrite(bob)).Status)
		require.Equal(t, []string{"1"}, heard(), "readers that wait at the gate are told")
		require.Equal(t, luacall.Held, run(p.place, p.read(carol)).Status)
	})
}

func TestRWAReadInsideAWritePassesTheGate(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.write(alice))
		p.do("SET %s %s PX %d", p.gate, carol, gateTTL)
		require.Equal(t, luacall.Held, run(p.place, p.readUnder(bob, alice)).Status)
	})
}
