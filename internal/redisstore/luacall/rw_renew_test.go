package luacall_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

func TestRWRenewalOfReaders(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		for _, id := range []string{alice, bob, carol} {
			run(p.place, p.readFor(id, 5000))
		}
		p.kill(carol)
		call := luacall.RenewRead(
			[]string{p.lock, p.lock, p.lock, p.lock},
			[]string{p.hold(alice, 1), p.hold(bob, 1), p.hold(carol, 1), p.hold("d:1", 1)},
			[]string{alice, bob, carol, "d:1"},
			[]int64{lease, lease, lease, lease})
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed, luacall.Renewed, luacall.RenewGone, luacall.RenewGone},
			run(p.place, call))
		p.holdKeys(alice, 1, lease)
		p.holdKeys(bob, 1, lease)
		p.holdKeys(carol, 0, 0)
		p.lives(p.lock, lease)

		require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(p.place, p.renewRead(alice, 1000)))
		p.lives(p.lock, lease) // bob may need it so long
		p.holdKeys(alice, 1, 1000)
		p.holdKeys(bob, 1, lease)
	})
}

// One bad key does not cost the others their leases (bug 13), whatever order they stand in.
func TestRWRenewalOfManyLocks(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		other, bad := newRWPlace(t, p.rdb), newRWPlace(t, p.rdb)
		run(p.place, p.readFor(alice, 5000))
		run(p.place, p.readFor(bob, 5000))
		run(p.place, other.readFor(alice, 5000))
		p.do("SET %s x", bad.lock)
		got := run(p.place, luacall.RenewRead(
			[]string{p.lock, bad.lock, other.lock, p.lock},
			[]string{p.hold(alice, 1), bad.hold(alice, 1), other.hold(alice, 1), p.hold(bob, 1)},
			[]string{alice, alice, alice, bob}, []int64{lease, lease, lease, lease}))
		require.Equal(t, []luacall.RenewStatus{luacall.Renewed, luacall.RenewConflict, luacall.Renewed, luacall.Renewed}, got)
		p.holdKeys(alice, 1, lease)
		p.holdKeys(bob, 1, lease)
		other.holdKeys(alice, 1, lease)
		other.lives(other.lock, lease)
	})
}

func TestRWRenewalOfWriters(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		other, bad := newRWPlace(t, p.rdb), newRWPlace(t, p.rdb)
		a := p.writeArgs(alice)
		a.Lease = 5000
		run(p.place, luacall.AcquireWrite(a))
		p.do("SET %s x", bad.lock)
		got := run(p.place, luacall.RenewWrite([]string{bad.lock, other.lock, p.lock},
			[]string{alice, alice, alice}, []int64{lease, lease, lease}))
		require.Equal(t, []luacall.RenewStatus{luacall.RenewConflict, luacall.RenewGone, luacall.Renewed}, got)
		p.lives(p.lock, lease)
		long := p.readArgs(bob)
		long.Under, long.Lease = alice, 2*lease
		run(p.place, luacall.AcquireRead(long))
		run(p.place, luacall.RenewWrite([]string{p.lock}, []string{alice}, []int64{lease}))
		p.lives(p.lock, 2*lease)
	})
}

func TestRWRenewalKeyByKey(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.readFor(alice, 5000))
		extend := func(key, id string, ttl int64) luacall.RenewStatus {
			return run(p.place, luacall.ExtendRead(key, id, ttl))[0]
		}
		require.Equal(t, luacall.Renewed, extend(p.hold(alice, 1), "", lease))
		p.holdKeys(alice, 1, lease)
		require.Equal(t, luacall.Renewed, extend(p.lock, alice, lease))
		p.lives(p.lock, lease)
		p.still(func() {
			require.Equal(t, luacall.Renewed, extend(p.lock, alice, 1000), "others may need it longer")
			require.Equal(t, luacall.RenewGone, extend(p.hold(bob, 1), "", lease))
			require.Equal(t, luacall.RenewGone, extend(p.lock, bob, lease))
			require.Equal(t, luacall.RenewConflict, extend(p.hold(alice, 1), alice, lease))
		})
	})
}

// A batch of one lock's readers asks the hash once; each hold costs two calls.
func TestRWRenewalCostsLittlePerReader(t *testing.T) {
	p := newRWPlace(t, startServer(t).Client(t))
	const many = 200
	p.fill(many, many)
	var locks, holds, ids []string
	var ttls []int64
	for i := range many {
		id := fmt.Sprint("crowd:", i)
		locks, holds = append(locks, p.lock), append(holds, p.hold(id, 1))
		ids, ttls = append(ids, id), append(ttls, 2*lease)
	}
	require.Equal(t, "hmget pexpire*201 pttl*201",
		p.callsOf(func() { run(p.place, luacall.RenewRead(locks, holds, ids, ttls)) }))
	p.lives(p.lock, 2*lease)
	p.holdKeys("crowd:199", 1, 2*lease)
}

func TestRWInspect(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		require.Empty(t, p.look(false).Holders)
		require.Empty(t, p.look(true).Holders)
		fence := run(p.place, p.write(alice)).Fence
		p.do("PEXPIRE %s %d", p.lock, 2*lease)
		run(p.place, p.readUnder(bob, alice))
		p.deepen(bob, 2)

		seen := p.look(true)
		require.Equal(t, fence, seen.Fence)
		require.Len(t, seen.Holders, 1)
		require.Equal(t, alice, seen.Holders[0].ID)
		require.EqualValues(t, 1, seen.Holders[0].Count)
		require.InDelta(t, 2*lease, seen.Holders[0].TTL.Milliseconds(), 1000)

		seen = p.look(false)
		require.Len(t, seen.Holders, 1)
		require.Equal(t, bob, seen.Holders[0].ID)
		require.EqualValues(t, 2, seen.Holders[0].Count)
		require.InDelta(t, lease, seen.Holders[0].TTL.Milliseconds(), 1000, "its own lease")

		run(p.place, p.unwrite(alice))
		run(p.place, p.readFor(carol, 4000))
		seen = p.look(false)
		require.Len(t, seen.Holders, 2)
		ttls := map[string]time.Duration{}
		for _, h := range seen.Holders {
			ttls[h.ID] = h.TTL
		}
		require.InDelta(t, 4000, ttls[carol].Milliseconds(), 1000)
		p.kill(carol)
		require.Len(t, p.look(false).Holders, 1, "the dead hold nothing")
		require.Empty(t, p.look(true).Holders)
	})
}
