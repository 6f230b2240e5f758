package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
)

// network decides by the seed, the client and the number of its request, so that what one client does changes
// nothing for the others.
type network struct {
	seed  uint64
	began time.Time
	heal  time.Duration // from when on it does no more than copy requests

	lag                             time.Duration // one way, at most
	lost, mute, slow, again, refuse float64       // how much of what is sent, of one
	tardy                           float64       // how many messages come late
	tardiest                        time.Duration // by how much at most
	stops                           [][]stop      // by client
	commits                         float64       // how many acquisitions are seen and answered late
	back, at                        time.Duration // how far the server's clock is set back, and when
	moves                           []move        // of everything to another server
}

// move is one to a server whose clock is ahead.
type move struct{ at, ahead time.Duration }

// copies is how late a copy can be of what takes something. One that comes in time finds its hold released, and takes
// it again for nobody, for a lease; that of a renewal, which is not as late, can make that two.
const copies = 4 * lease

// stop is a time in which a process neither sends nor hears anything.
type stop struct{ from, to time.Duration }

// newNetwork draws one: perfect, bad in one way or bad in all.
func newNetwork(seed uint64, random *rand.Rand, clients int) *network {
	n := &network{
		seed: seed, began: time.Now(), heal: draw(random, 4*lease), stops: make([][]stop, clients),
		tardiest: 2 * lease,
		lag:      []time.Duration{0, 50 * time.Microsecond, time.Millisecond, 20 * time.Millisecond}[random.IntN(4)],
	}
	for _, share := range []*float64{&n.lost, &n.mute, &n.slow, &n.again, &n.refuse, &n.tardy} {
		if random.IntN(3) == 0 {
			*share = []float64{0.02, 0.1, 0.4}[random.IntN(3)]
		}
	}
	for i := range n.stops {
		if random.IntN(4) == 0 {
			from := draw(random, n.heal)
			n.stops[i] = append(n.stops[i], stop{from, from + draw(random, 2*lease)})
		}
	}
	if random.IntN(6) == 0 {
		n.back, n.at = draw(random, 2*lease), draw(random, n.heal)
	}
	return n
}

// setClocks has the server's clock set back, and other servers take over, when that is due.
func (n *network) setClocks(server *memstore.Server) {
	if n.back > 0 {
		time.AfterFunc(n.at, func() { server.SetBack(n.back) })
	}
	for _, m := range n.moves {
		time.AfterFunc(m.at, func() { server.Move(m.ahead) })
	}
}

// tooMany requests of one client are those of a caller that asks again and again without waiting. The time of a
// simulation stands still meanwhile, so such a schedule would never end.
const tooMany = 1_000_000

// Fate implements [memstore.Network].
func (n *network) Fate(r memstore.Request) memstore.Fate {
	if r.Nth > tooMany {
		panic(fmt.Sprintf("client %d asks without end, now for %s of %s; %s", r.Client, r.Kind, r.Key, again(n.seed)))
	}
	random := rand.New(rand.NewPCG(n.seed, uint64(r.Client)<<48|r.Nth))
	if r.Client >= len(n.stops) {
		return memstore.Fate{} // the keeper's
	}
	now := time.Since(n.began)
	fate := memstore.Fate{Before: draw(random, n.lag), After: draw(random, n.lag)}
	if random.Float64() < n.again {
		fate.Again = draw(random, lease/6)
		if r.Kind == memstore.Acquire || r.Kind == memstore.Adopt || r.Kind == memstore.Change ||
			r.Kind == memstore.Message {
			fate.Again = draw(random, copies) // which is beyond its not-after
		}
	}
	if now >= n.heal {
		return fate
	}
	if random.Float64() < n.slow {
		fate.Before += draw(random, lease)
	}
	if r.Kind == memstore.Message && random.Float64() < n.tardy {
		fate.Before += time.Duration(random.Int64N(int64(n.tardiest)))
	}
	if random.Float64() < n.slow {
		fate.After += draw(random, lease)
	}
	if r.Kind == memstore.Acquire && n.commits > 0 && random.Float64() < n.commits {
		fate.Commit = draw(random, 2*lease)
	}
	fate.Lost = random.Float64() < n.lost
	fate.Mute = random.Float64() < n.mute
	fate.Refuse = random.Float64() < n.refuse/4
	for _, s := range n.stops[r.Client] {
		if now >= s.from && now < s.to {
			fate.Before += s.to - now
		}
		if back := now + fate.Before + fate.After; back >= s.from && back < s.to {
			fate.After += s.to - back
		}
	}
	return fate
}

// orderly reports that every request is carried out once and answered in time, even for the shortest of leases, and
// that the clock goes on: a waiter whose hold is over before it is told of it comes in again, behind the others. So
// does one of which the message comes when its invitation is over: it keeps its place, but the turn was another's. One
// that comes before asks, and has its turn.
func (n *network) orderly(poll time.Duration) bool {
	const limit = shortestFixed / 6 // of one request
	heard := n.tardy == 0 || n.tardiest < invites(poll)
	return heard && n.lost+n.mute+n.slow+n.refuse+n.again+n.commits == 0 && n.longest() == n.lag && n.back == 0 &&
		len(n.moves) == 0 && 2*n.lag < limit
}

// revives reports that requests can be carried out of which their senders know that they cannot any more: copies of
// answered ones, and those that were too late before the clock was set back.
func (n *network) revives() bool { return n.again > 0 || n.back > 0 }

// longest is how long a request can be on its way, but for copies of it.
func (n *network) longest() time.Duration {
	d := n.lag
	if n.slow > 0 {
		d += lease
	}
	if n.commits > 0 {
		d += 2 * lease
	}
	var stopped time.Duration
	for _, stops := range n.stops {
		for _, s := range stops {
			stopped = max(stopped, s.to-s.from)
		}
	}
	return d + stopped
}

// draw is a time up to most, of any magnitude: short ones are as likely as long ones.
func draw(random *rand.Rand, most time.Duration) time.Duration {
	if most <= 0 {
		return 0
	}
	for random.IntN(3) > 0 {
		most /= 10
	}
	return time.Duration(random.Int64N(int64(most) + 1))
}
