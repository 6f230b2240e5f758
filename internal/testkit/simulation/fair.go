package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// fairKind is the fair lock. In some schedules one process does not know of the queue.
var fairKind = kind{
	name: "fair", room: 1, queues: true, act: (*worker).hold, breaks: breakLock,
	want: func(w *worker, name string) want {
		if w.number == 0 && w.seed%4 == 0 {
			what := of(rlock.New(w.client, name, w.options()...), 1, false)
			what.stranger = true
			return what
		}
		return of(fairlock.New(w.client, name, w.options()...), 1, false)
	},
	same: func(w *worker, as want) *rlock.Lock {
		if as.stranger {
			return rlock.New(w.client, as.name)
		}
		return fairlock.New(w.client, as.name)
	},
	inside: func(w *worker, in *wait, held context.Context) func() {
		w.nest(in.lock, held)
		return func() {}
	},
	idle: func(in *world, waits []*wait) bool {
		exclusive, _ := in.server.Holds(waits[0].name)
		return exclusive == 0
	},
}

// invitationKind is the fair lock where invitations are what matters: their messages come late, also when the
// invitation is over, or twice, or both; waiters ask seldom otherwise; clients stop; the server's clock is set back;
// and another server takes over, whose clock is ahead.
var invitationKind = fairInvitations()

func fairInvitations() kind {
	k := fairKind
	k.name, k.poll, k.act, k.bends = "invitations", 5*time.Second, (*worker).queue, late
	return k
}

// runsKind is the fair lock where runs of turns are what matters, which pass in memory: many short ones, some of which
// a Break ends, or an outage that is longer than a lease.
var runsKind = fairRuns()

func fairRuns() kind {
	k := fairKind
	k.name, k.act, k.bends, k.steady = "runs", (*worker).turns, outages, true
	k.want = func(w *worker, name string) want { return of(fairlock.New(w.client, name), 1, false) }
	return k
}

// turns has one turn after another. Seldom another process breaks the hold in the middle of one, which its own process
// does not learn then: the run goes on.
func (w *worker) turns(name string) {
	for range 1 + w.random.IntN(40) {
		keep := draw(w.random, 20*time.Millisecond)
		w.turn(context.Background(), w.kind.want(w, name), func(held *wait) {
			time.Sleep(keep)
			if w.random.IntN(40) == 0 {
				other := &worker{w.processes[w.random.IntN(len(w.processes))], w.random}
				w.book.breaking(name, 1)
				_ = w.kind.same(other, held.want).BreakOne(context.Background(), held.hold.ID)
				w.book.breaking(name, -1)
			}
		})
	}
}

// outages is a network that is perfect, but for times in which nobody reaches the server, or one process does not.
func outages(n *network, random *rand.Rand) {
	*n = network{seed: n.seed, began: n.began, lag: n.lag, stops: make([][]stop, len(n.stops))}
	for range random.IntN(3) {
		from := draw(random, 2*lease)
		away := stop{from, from + draw(random, 2*lease)}
		n.heal = max(n.heal, away.to)
		only := random.IntN(2 * len(n.stops))
		for i := range n.stops {
			if i == only || only >= len(n.stops) {
				n.stops[i] = append(n.stops[i], away)
			}
		}
	}
}

// queue asks for a hold, always by Lock, and mostly keeps it for about as long as an invitation stands.
func (w *worker) queue(name string) {
	what := w.kind.want(w, name)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if w.random.IntN(4) == 0 {
		ctx, cancel = w.patient(2 * lease)
	}
	defer cancel()
	w.turn(ctx, what, func(held *wait) {
		select {
		case <-held.held.Done():
		case <-time.After(time.Duration(w.random.Int64N(int64(lease)))):
		}
	})
}

// turn asks for a hold by Lock, and keeps it until use returns.
func (w *worker) turn(ctx context.Context, what want, use func(held *wait)) {
	call := w.book.begin(&wait{want: what, client: w.number, queues: true})
	held, unlock, err := what.by.Lock(ctx)
	if err != nil {
		w.book.fail(call)
		w.mayFail(call.name, err)
		return
	}
	w.book.enter(call, held)
	use(call)
	w.book.leave(call)
	_ = unlock()
}

// late is a network that does what it does to messages for much longer than others, and hardly anything to requests.
func late(n *network, random *rand.Rand) {
	n.heal = 10 * lease
	n.mute, n.refuse = 0, 0
	if random.IntN(4) == 0 { // nothing but messages that come before their invitation is over
		*n = network{
			seed: n.seed, began: n.began, heal: n.heal, lag: n.lag, tardy: 0.5, tardiest: 2 * time.Second,
			stops: make([][]stop, len(n.stops)),
		}
		return
	}
	n.lost, n.slow = []float64{0, 0, 0.02}[random.IntN(3)], []float64{0, 0, 0.05}[random.IntN(3)]
	n.tardy, n.again = []float64{0, 0.3, 0.8}[random.IntN(3)], []float64{0, 0.4}[random.IntN(2)]
	for i := range n.stops {
		n.stops[i] = nil
		for range random.IntN(3) {
			from := time.Duration(random.Int64N(int64(n.heal)))
			n.stops[i] = append(n.stops[i], stop{from, from + time.Duration(random.Int64N(int64(2*lease)))})
		}
	}
	n.back, n.moves = 0, nil
	switch random.IntN(3) {
	case 0:
		n.back, n.at = time.Duration(random.Int64N(int64(2*lease))), time.Duration(random.Int64N(int64(n.heal)))
	case 1:
		for range 1 + random.IntN(4) {
			n.moves = append(n.moves, move{
				time.Duration(random.Int64N(int64(n.heal))), time.Duration(random.Int64N(int64(2 * lease))),
			})
		}
	}
}
