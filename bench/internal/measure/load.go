package measure

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/stats"
)

const (
	// grace is how long those who still wait at the end may go on at least, so that a turn is not cut in the
	// middle by those who do not have to be.
	grace = time.Second

	// connections of a client, each of which carries one command in a round trip: go-redis opens ten for each of two
	// processors.
	connections = 20

	samples = 1 << 18 // waits that are remembered of one load
)

// Load is goroutines that lock and unlock without a pause, each with its own handle.
type Load struct {
	Locks   []contender.Lock
	For     time.Duration
	Section time.Duration // what each does while it holds the lock
	Clients int           // whose goroutines follow one another; 0: one
	Trip    time.Duration // what a round trip takes, if that is more than nothing
	Own     bool          // each has a name of its own: nobody waits for another, and Absence says nothing
}

// Outcome is what a load came to.
type Outcome struct {
	Turns    []int // by goroutine: pairs that ended in time
	Pairs    int
	Failures int
	Elapsed  time.Duration
	Waits    []time.Duration // of Lock, sorted
	Both     []time.Duration // of Lock and Unlock, sorted
	Absence  time.Duration   // the longest time for which no goroutine of a client got the lock
}

var errNobody = errors.New("nobody got a lock")

// enough is for how long a load may be run in vain.
const enough = 2 * time.Second

// Run runs the load once, and again for longer where a busy machine gave nobody a turn in so short a time. An error of
// a contender counts as a failure before the end, and as nothing after it. If there were only errors, the run fails.
func (l Load) Run(ctx context.Context) (Outcome, error) {
	for {
		outcome, err := l.run(ctx)
		if !errors.Is(err, errNobody) || l.For >= enough || ctx.Err() != nil {
			return outcome, err
		}
		l.For = min(4*l.For, enough)
	}
}

func (l Load) run(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var end ending
	workers, clients := make([]worker, len(l.Locks)), make([]absence, max(l.Clients, 1))
	for i := range workers {
		workers[i] = newWorker(l.Locks[i], samples/len(l.Locks))
		workers[i].section = l.Section
		if !l.Own {
			workers[i].client = &clients[i*len(clients)/len(workers)]
		}
	}
	timer := time.AfterFunc(l.For, func() {
		end.over.Store(true)
		time.AfterFunc(max(grace, 2*l.Pass()), cancel)
	})
	defer timer.Stop()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { workers[i].run(ctx, &end) })
	}
	wg.Wait()
	outcome, err := gather(workers, max(l.For, time.Duration(end.last.Load())))
	for i := range clients {
		outcome.Absence = max(outcome.Absence, time.Duration(clients[i].longest.Load()))
	}
	return outcome, err
}

// Pass is how long it takes until everybody had a turn, if commands share no round trips.
func (l Load) Pass() time.Duration {
	each := float64(len(l.Locks)) / float64(max(l.Clients, 1)) / connections
	return time.Duration(2 * max(each, 1) * float64(l.Trip))
}

// absence is for how long the goroutines of one client did not get the lock.
type absence struct{ last, longest atomic.Int64 }

// came notes that one got it, so long after the beginning. It says something only where all want one name: then one
// calls it at a time.
func (a *absence) came(at time.Duration) {
	a.longest.Store(max(a.longest.Load(), int64(at)-a.last.Swap(int64(at))))
}

// work takes so long: by looking at the clock where a timer would be late by about as much.
func work(d time.Duration) {
	const sure = time.Millisecond
	if d >= sure {
		time.Sleep(d)
		return
	}
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

// A load is run for so long before it is measured, or for so many round trips.
const (
	warmth = 200 * time.Millisecond
	trips  = 12
)

// Warm runs the load for a moment, so that connections are made and scripts are loaded. It is not for
// every handle: where many poll for one name, some would wait for longer than the measurement takes.
func (l Load) Warm(ctx context.Context) error {
	l.For = min(l.For, max(warmth, trips*l.Trip))
	_, err := l.Run(ctx)
	return err
}

func gather(workers []worker, elapsed time.Duration) (Outcome, error) {
	o := Outcome{Elapsed: elapsed}
	var errs []error
	for i := range workers {
		w := &workers[i]
		o.Turns = append(o.Turns, w.turns)
		o.Pairs += w.turns
		o.Failures += w.failures
		o.Waits = append(o.Waits, w.waits...)
		o.Both = append(o.Both, w.both...)
		errs = append(errs, w.err)
	}
	slices.Sort(o.Waits)
	slices.Sort(o.Both)
	if o.Pairs == 0 {
		return o, errors.Join(errNobody, errors.Join(errs...))
	}
	return o, nil
}

// Figures are those of the outcome itself.
func (o Outcome) Figures() Figures {
	us := func(sorted []time.Duration, share float64) float64 {
		return float64(stats.Percentile(sorted, share).Nanoseconds()) / 1e3
	}
	return Figures{
		Rate:      float64(o.Pairs) / o.Elapsed.Seconds(),
		P50:       us(o.Waits, 0.5),
		P99:       us(o.Waits, 0.99),
		Max:       us(o.Waits, 1),
		PairP50:   us(o.Both, 0.5),
		PairP99:   us(o.Both, 0.99),
		TurnRatio: ratio(o.Turns),
		Absence:   float64(o.Absence.Nanoseconds()) / 1e3,
		Failures:  float64(o.Failures),
	}
}

func ratio(turns []int) float64 {
	return float64(slices.Max(turns)) / float64(max(slices.Min(turns), 1))
}

// By adds up the turns of groups of goroutines that follow one another, and is the ratio of the most
// and the fewest.
func (o Outcome) By(groups int) float64 {
	sums := make([]int, groups)
	for i, n := range o.Turns {
		sums[i*groups/len(o.Turns)] += n
	}
	return ratio(sums)
}

type worker struct {
	lock     contender.Lock
	section  time.Duration
	client   *absence // nil: each has a name of its own
	turns    int
	failures int
	err      error // the first
	waits    []time.Duration
	both     []time.Duration
}

func newWorker(lock contender.Lock, room int) worker {
	return worker{lock: lock, waits: make([]time.Duration, 0, room), both: make([]time.Duration, 0, room)}
}

// ending is when a load is over: when its time is, but not before there was a first pair, which on a
// busy machine can take longer than a brief run has.
type ending struct {
	over, any atomic.Bool
	last      atomic.Int64 // when the first pair ended, if that was after the end
}

// run locks with a context of the worker's own, as that of a request is.
func (w *worker) run(ctx context.Context, end *ending) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	begin := time.Now()
	for !end.over.Load() || !end.any.Load() && w.failures == 0 {
		start := time.Now()
		err := w.lock.Lock(ctx)
		got := time.Now()
		if err == nil {
			if w.client != nil {
				w.client.came(got.Sub(begin))
			}
			work(w.section)
			err = w.lock.Unlock()
		}
		done := time.Now()
		if err != nil {
			w.failed(err, end)
			continue
		}
		if end.over.Load() {
			if !end.any.CompareAndSwap(false, true) {
				return
			}
			end.last.Store(int64(done.Sub(begin)))
		} else if !end.any.Load() {
			end.any.Store(true)
		}
		w.turns++
		w.remember(got.Sub(start), done.Sub(start))
	}
}

// failed counts a failure; one after the end is the end's.
func (w *worker) failed(err error, end *ending) {
	if w.err == nil {
		w.err = err
	}
	if !end.over.Load() || !end.any.Load() {
		w.failures++
	}
}

// remember keeps a fair sample when there is no room for all.
func (w *worker) remember(wait, both time.Duration) {
	if len(w.waits) < cap(w.waits) {
		w.waits, w.both = append(w.waits, wait), append(w.both, both)
		return
	}
	if at := rand.IntN(w.turns); at < len(w.waits) {
		w.waits[at], w.both[at] = wait, both
	}
}
