package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/memquorum"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// longestGuard is the longest time for which a server that was restarted has no vote, but for what rounding adds.
const longestGuard = 2 * lease

// redlockKind is the lock over three or five servers in memory, each with a network and faults of its own.
var redlockKind = kind{
	name: "redlock", room: 1, settles: longestGuard + 3*time.Second,
	begin: func(w *world) func() {
		w.quorum = newQuorum(w)
		return func() { time.Sleep(w.quorum.longest() + longestGuard + lease) }
	},
	act: func(w *worker, name string) {
		switch n := w.random.IntN(100); {
		case n < 1:
			if time.Since(w.net.began) < w.net.heal+w.quorum.longest()+soon { // a node may still count as failed
				w.quorum.dropped.Store(true)
			}
			_ = w.quorum.clients[w.number].Close() // it may name what is held
		case n < 6:
			w.quorum.cut(w.number, w.random)
		default:
			w.hold(name)
		}
	},
	breaks: breakLock,
	want: func(w *worker, name string) want {
		return of(redlock.New(w.quorum.clients[w.number], name, w.options()...), 1, false)
	},
	same: func(w *worker, as want) *rlock.Lock {
		return redlock.New(w.quorum.clients[w.number], as.name)
	},
	inside: func(w *worker, in *wait, held context.Context) func() {
		lock := in.lock
		if w.random.IntN(3) == 0 {
			lock = redlock.New(w.quorum.clients[w.number], in.name, w.fixed())
		}
		w.nest(lock, held)
		return func() {}
	},
	idle: func(in *world, waits []*wait) bool {
		return in.quorum.free(waits[0].name) > len(in.quorum.servers)/2
	},
	done:  func(w *world) { w.quorum.released(w) },
	check: func(w *world) { w.quorum.check(w) },
}

// quorum is the servers of a schedule and the clients on them, one for each process.
type quorum struct {
	servers  []*memquorum.Server
	networks []*network
	clients  []*redlock.Client
	links    [][]*memquorum.Link // by client
	dropped  atomic.Bool         // a client was closed while a node may have counted as failed
}

func newQuorum(w *world) *quorum {
	random := rand.New(rand.NewPCG(w.seed, 1))
	q := &quorum{links: make([][]*memquorum.Link, len(w.processes))}
	calm := random.IntN(4) == 0 // nothing goes wrong with the servers themselves
	for i := range 3 + 2*random.IntN(2) {
		net := newNetwork(random.Uint64(), random, len(w.processes))
		net.heal = w.net.heal
		for p := range net.stops {
			net.stops[p] = append(net.stops[p], w.net.stops[p]...)
		}
		ahead := draw(random, lease/2)
		if random.IntN(2) == 0 {
			ahead = -ahead
		}
		server := memquorum.New(fmt.Sprintf("node %d", i), net, longestGuard+3*time.Second, ahead)
		q.networks, q.servers = append(q.networks, net), append(q.servers, server)
		if !calm {
			disturb(server, random, net.heal)
		}
	}
	options := redlock.Options{
		ClientOptions: rlock.ClientOptions{
			Lease: lease, MaxPoll: w.kind.polls(), ReleaseTimeout: patient, Logger: slog.New(slog.DiscardHandler),
			FenceTTL: 2 * longestGuard, Observer: w.told.Observer(),
		},
		NodeTimeout:  []time.Duration{0, 50 * time.Millisecond, lease / 6}[random.IntN(3)],
		RestartGuard: []time.Duration{0, longestGuard}[random.IntN(2)],
		BehindProxy:  random.IntN(3) == 0,
	}
	for i := range w.processes {
		q.clients = append(q.clients, q.open(w, i, options))
	}
	w.book.orderly = false // a request that gets no quorum is one that is not answered
	return q
}

func (q *quorum) open(w *world, number int, options redlock.Options) *redlock.Client {
	var nodes []redis.UniversalClient
	for _, server := range q.servers {
		nodes = append(nodes, server.Node(number, options.BehindProxy, func(l *memquorum.Link) {
			q.links[number] = append(q.links[number], l)
		}))
	}
	client, err := redlock.NewClient(nodes, &options)
	if err != nil {
		panic(fmt.Sprintf("client %d of redlock: %v", number, err))
	}
	return client
}

// disturb has a server freeze, come back empty and set its clock. Its clock goes ahead by less than the margin that
// every hold keeps for that; back it may go further.
func disturb(server *memquorum.Server, random *rand.Rand, until time.Duration) {
	if random.IntN(3) == 0 {
		at := draw(random, until)
		time.AfterFunc(at, server.Freeze)
		time.AfterFunc(at+draw(random, until-at), server.Thaw)
	}
	for random.IntN(3) == 0 {
		time.AfterFunc(draw(random, until), server.Restart)
	}
	if random.IntN(3) == 0 {
		time.AfterFunc(draw(random, until), func() { server.Step(2 * time.Millisecond) })
	}
	if random.IntN(3) == 0 {
		by := -draw(random, lease/4)
		time.AfterFunc(draw(random, until), func() { server.Step(by) })
	}
}

// cut ends a connection of a client.
func (q *quorum) cut(client int, random *rand.Rand) {
	links := q.links[client]
	links[random.IntN(len(links))].Break()
}

// free is how many servers have nobody's hold of that name.
func (q *quorum) free(name string) (n int) {
	for _, server := range q.servers {
		if !server.Holds(name) {
			n++
		}
	}
	return n
}

// longest is how long a request can be on its way to one of the servers.
func (q *quorum) longest() (d time.Duration) {
	for _, net := range q.networks {
		d = max(d, net.longest()+lease/6) // which a copy can be later
	}
	return d
}

// released notes what has not been released as soon as it can be, rather than left to its lease: when the network is
// well, and what was under way to a node has come, that node is asked again before long. A copy of an acquisition that
// comes late takes the lock for nobody, for a lease.
// A client that was closed before gives a node one attempt more, and leaves the rest to the lease.
func (q *quorum) released(w *world) {
	if q.dropped.Load() {
		return
	}
	var looking sync.WaitGroup
	for i, net := range q.networks {
		if net.again == 0 {
			looking.Go(func() {
				time.Sleep(max(net.heal-time.Since(net.began), 0) + net.longest() + soon)
				w.note("not released", q.servers[i])
			})
		}
	}
	looking.Wait()
}

// soon is how long it takes until a node that failed is asked again, and has answered.
const soon = lease / 2

// note notes what stands at a server.
func (w *world) note(how string, server *memquorum.Server) {
	for _, left := range server.Left() {
		w.book.note("%s: %s", how, left)
	}
}

// check notes what is left, and closes the clients.
func (q *quorum) check(w *world) {
	for _, server := range q.servers {
		w.note("left behind", server)
	}
	for i, client := range q.clients {
		if err := client.Close(); err != nil {
			w.book.note("client %d of redlock: %v", i, err)
		}
	}
}
