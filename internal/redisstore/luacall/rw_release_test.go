package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

func TestRWReleasesTellWhoWaits(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		heard := p.listen(false)
		run(p.place, p.read(alice))
		run(p.place, p.read(bob))
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done}}, run(p.place, p.unread(alice)))
		require.Empty(t, heard(), "there is nothing to come in for")
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: 1}}, run(p.place, p.unread(bob)))
		require.Equal(t, []string{"0"}, heard())

		run(p.place, p.write(alice))
		require.Equal(t, luacall.ReleaseReply{ReleaseReply: store.ReleaseReply{Status: luacall.Done, Receivers: 1}}, run(p.place, p.unwrite(alice)))
		require.Equal(t, []string{"1", "0"}, heard(), "all, and who was about to sleep (Redisson's D24)")

		run(p.place, p.write(alice))
		run(p.place, p.readUnder(bob, alice))
		require.Equal(t, luacall.Done, run(p.place, p.unwrite(alice)).Status)
		require.Equal(t, []string{"1"}, heard(), "readers come in at once (Redisson's D32)")
		p.is("read", bob, "1")
		require.Equal(t, luacall.Held, run(p.place, p.read(carol)).Status)
	})
}

func TestRWReleasesOfWhatIsNotThere(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		heard := p.listen(false)
		gone := func() {
			p.still(func() {
				require.Equal(t, luacall.Gone, run(p.place, p.unread(alice)).Status)
				require.Equal(t, luacall.Gone, run(p.place, p.unwrite(alice)).Status)
			})
		}
		gone()
		run(p.place, p.read(bob))
		gone()
		run(p.place, p.unread(bob))
		run(p.place, p.write(bob))
		gone()
		require.Equal(t, []string{"0"}, heard())
		require.Equal(t, luacall.Gone, run(p.place, p.unread(bob)).Status, "the writer is no reader")
		p.is("write", bob+":write", "1")
	})
}

func TestRWReleaseTellsTheTimeBeforeItLooks(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		before := p.now()
		a := p.releaseArgs(alice, p.hold(alice, 1))
		a.WantNow = true
		require.GreaterOrEqual(t, run(p.place, luacall.ReleaseRead(a)).Now, before)
		a.Other = p.gate
		require.GreaterOrEqual(t, run(p.place, luacall.ReleaseWrite(a)).Now, before)
	})
}

func (p *rwPlace) adoptWrite(from, to string) *luacall.Call[luacall.AcquireReply] {
	return luacall.AdoptWrite(luacall.AdoptArgs{Lock: p.lock, From: from, To: to, Lease: lease, NotAfter: never})
}

func (p *rwPlace) adoptRead(from, to string) *luacall.Call[luacall.AcquireReply] {
	return luacall.AdoptRead(p.base, luacall.AdoptArgs{
		Lock: p.lock, From: from, To: to, Lease: lease, NotAfter: never,
	})
}

// One of several readers of a hold gets another one beside it, which lives on with its levels and its lease.
func TestAReadHoldIsMadeBesideAnother(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		beside := func(from, to string) *luacall.Call[luacall.AcquireReply] {
			return luacall.AdoptRead(p.base, luacall.AdoptArgs{
				Lock: p.lock, From: from, To: to, Lease: lease, NotAfter: never, Stays: true,
			})
		}
		run(p.place, p.readFor(alice, 2*lease))
		run(p.place, p.readFor(carol, 3000))
		require.Equal(t, luacall.Held, run(p.place, beside(alice, bob)).Status)
		require.Equal(t, luacall.Held, run(p.place, beside(carol, "d:1")).Status)
		p.is("read", alice, "1", bob, "1", carol, "1", "d:1", "1")
		p.holdKeys(alice, 1, 2*lease)
		p.holdKeys(bob, 1, lease)
		p.holdKeys(carol, 1, lease)
		p.lives(p.lock, 2*lease)
		p.still(func() {
			require.Equal(t, luacall.Already, run(p.place, beside(alice, bob)).Status)
			require.Equal(t, luacall.Gone, run(p.place, beside("e:1", "f:1")).Status)
		})
		for _, id := range []string{alice, carol, "d:1", bob} {
			run(p.place, p.unread(id))
		}
	})
}

func TestRWHoldsMove(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.readFor(alice, 3000))
		run(p.place, p.readFor(carol, 2*lease))
		require.Equal(t, luacall.Held, run(p.place, p.adoptRead(alice, bob)).Status)
		p.is("read", bob, "1", carol, "1")
		p.holdKeys(bob, 1, lease)
		p.holdKeys(alice, 0, 0)
		p.lives(p.lock, 2*lease)
		p.still(func() {
			require.Equal(t, luacall.Already, run(p.place, p.adoptRead(alice, bob)).Status)
			require.Equal(t, luacall.Gone, run(p.place, p.adoptRead(alice, "d:1")).Status)
		})
		run(p.place, p.unread(bob))
		run(p.place, p.unread(carol))

		run(p.place, p.write(alice))
		run(p.place, p.readUnder(carol, alice))
		adopt := p.adoptWrite(alice, bob)
		require.Equal(t, luacall.Held, run(p.place, adopt).Status)
		p.is("write", bob+":write", "1", carol, "1")
		p.still(func() { require.Equal(t, luacall.Already, run(p.place, adopt).Status) })
	})
}
