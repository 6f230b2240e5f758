package simulation

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/rlock"
)

// places is how many copies of requests leave in a queue at most, before somebody's who waits.
const places = 10

const (
	lease   = 3 * time.Second
	patient = 2 * time.Second // to release

	glance  = 50 * time.Millisecond
	unused  = 11 * time.Minute // after that the queue of a fair lock has expired
	forever = 10 * time.Minute // for what a schedule has to do once the network is well
)

// invites is how long one waits for somebody who was invited and does not come.
func invites(poll time.Duration) time.Duration { return min(poll+time.Second, 3*time.Second) }

// settled is how long it takes until the locks are free, at most, where they should be.
func (w *world) settled() time.Duration {
	if w.kind.steady && w.net.heal == 0 {
		return 0
	}
	return w.net.heal + lease + w.kind.settles
}

// idles is how long a lock may be free while somebody waits.
func (k *kind) idles() time.Duration {
	if k.steady {
		return k.polls() + lease/6
	}
	return k.polls() + invites(k.polls())
}

// world is one schedule.
type world struct {
	seed      uint64
	kind      *kind
	names     []string
	server    *memstore.Server
	net       *network
	processes []*process
	keeper    *rlock.Client // without faults
	tallies   map[string]*tally
	quorum    *quorum // of redlock
	book      *book
	told      observertest.Checker // by all clients
	cutOff    atomic.Bool          // a client was closed and did not reach the server until its time was over
}

// Until runs schedules for a while, and prints which: those of one kind of locks, or of all if that is "". The
// environment decides otherwise (see choose).
func Until(t *testing.T, of string, d time.Duration) {
	t.Helper()
	c, err := choose(of, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	first, ran := c.next(c.from), uint64(0)
	for at, end := first, time.Now().Add(d); ; at = c.next(at + 1) {
		for _, problem := range Schedule(t, at) {
			t.Errorf("seed %d: %s", at, problem)
		}
		if t.Failed() {
			t.Fatal(again(at))
		}
		if ran++; c.most > 0 && ran == c.most || c.most == 0 && !time.Now().Before(end) {
			t.Logf("%d schedules, seeds %d to %d", ran, first, at)
			return
		}
	}
}

// again says how a schedule is run again.
func again(seed uint64) string {
	return fmt.Sprintf("to see it again: HOLDFAST_SEED=%d go test -count=20 -failfast -run '^TestSchedules$' "+
		"./internal/testkit/simulation", seed)
}

// Schedule runs one and returns what was wrong.
func Schedule(t *testing.T, seed uint64) (problems []string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("%v; %s", p, again(seed)))
		}
	}()
	synctest.Test(t, func(t *testing.T) { problems = run(t, seed, nil) })
	return problems
}

// run is one schedule. What is sent goes to a trace, if there is one.
func run(t *testing.T, seed uint64, to *trace) []string {
	random, kind := drawn(seed)
	clients := 1 + random.IntN(3)
	net := newNetwork(seed, random, clients)
	if kind.remembers {
		net.back = 0
	}
	if kind.bends != nil {
		kind.bends(net, random)
	}
	w := &world{
		seed: seed, kind: kind, names: []string{"a", "b"}[:1+random.IntN(2)], server: memstore.NewServer(to.over(net)),
		book: newBook(kind, net), net: net, tallies: make(map[string]*tally),
	}
	if kind.names != nil {
		w.names = kind.names
	}
	defer w.server.Close()
	net.setClocks(w.server)
	for i := range clients {
		w.processes = append(w.processes, w.open(t, i, random.IntN(2) == 0))
	}
	w.keeper = w.open(t, clients, true).client
	finish := func() {}
	if kind.begin != nil {
		finish = kind.begin(w)
	}
	var working sync.WaitGroup
	for _, p := range w.processes {
		for range 1 + random.IntN(5) {
			one := &worker{p, rand.New(rand.NewPCG(seed, random.Uint64()))}
			working.Go(one.run)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		working.Wait()
	}()
	if !w.watch(done, net) {
		w.book.note("calls have not returned %v after the network was well", forever)
	} else if kind.done != nil {
		kind.done(w)
	}
	w.end(net, finish)
	<-done // since the clients are closed
	for _, problem := range w.told.Problems() {
		w.book.note("an observer: %s", problem)
	}
	return w.book.problems
}

func (w *world) open(t *testing.T, number int, direct bool) *process {
	st := w.server.Store(number, direct)
	options, err := redisclient.Options{
		Lease: lease, MaxPoll: w.kind.polls(), ReleaseTimeout: patient, Logger: slog.New(slog.DiscardHandler),
		Observer: w.told.Observer(),
	}.Checked()
	if err != nil {
		t.Fatal(err)
	}
	client, err := redisclient.On(options, redisclient.ByRules(st), false)
	if err != nil {
		t.Fatal(err)
	}
	return &process{world: w, number: number, store: st, client: (*rlock.Client)(client)}
}

// watch looks at the locks once the network is well, until all is done; it reports false if that takes for ever.
func (w *world) watch(done <-chan struct{}, net *network) bool {
	well := time.NewTimer(w.settled())
	defer well.Stop()
	select {
	case <-done:
		return true
	case <-well.C:
	}
	ticks := time.NewTicker(glance)
	defer ticks.Stop()
	most := w.kind.idles()
	if w.kind.queues && net.revives() {
		most += places * invites(w.kind.polls())
	}
	for end := time.Now().Add(forever); time.Now().Before(end); {
		select {
		case <-done:
			return true
		case <-ticks.C:
			w.book.look(w, most)
		}
	}
	return false
}

// end looks at what is left. What was left behind has to be cleaned up or over when what was under way has come, no
// request can do anything any more by its not-after, and two leases are over, by the server's clock. Clients that are
// open would renew it, and a copy that comes later must not take anything. Subscriptions linger a little. What
// comes to life again can leave a place in a queue, which then goes with the queue; so can a client that is closed
// while it does not reach the server.
func (w *world) end(net *network, finish func()) {
	const over = 2*lease + patient
	time.Sleep(max(net.heal-time.Since(net.began), 0) + net.longest() + over + net.back)
	if w.kind.queues && (net.revives() || w.cutOff.Load()) {
		time.Sleep(unused)
	}
	finish()
	for range (copies - over) / glance {
		left := w.server.Left()
		for _, one := range left {
			w.book.note("left behind: %s", one)
		}
		if len(left) > 0 {
			break
		}
		time.Sleep(glance)
	}
	if w.kind.check != nil {
		w.kind.check(w)
	}
	_ = w.keeper.Close()
	for _, p := range w.processes {
		if err := p.client.Close(); err != nil {
			w.book.note("client %d: %v", p.number, err)
		}
	}
	for _, left := range w.server.Left() {
		w.book.note("left behind by Close: %s", left)
	}
}
