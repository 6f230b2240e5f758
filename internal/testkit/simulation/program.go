package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// shortestFixed is the shortest fixed lease that a worker asks for.
const shortestFixed = 100 * time.Millisecond

// longestFixed is a little less than a lease, so that none stands longer than a lease that nobody renews.
const longestFixed = lease - 100*time.Millisecond

// process is a client and its goroutines.
type process struct {
	*world
	number int
	store  *memstore.Store
	client *rlock.Client
}

// worker is one goroutine of a process.
type worker struct {
	*process
	random *rand.Rand
}

// want is something that a worker asks for, by a call that waits or by one that does not.
type want struct {
	name   string
	weight int64 // how much of the room of the name it takes
	reads  bool  // together with others, whose writer's token it has
	by     locker
	lock   *rlock.Lock // what by is; nil if it is none

	stranger bool // of a kind whose waiters queue, it does not

	minHold time.Duration // how long it is retained from when it was acquired, though it is unlocked before; 0: not
}

// locker is what a worker calls.
type locker interface {
	Lock(ctx context.Context) (held context.Context, unlock func() error, err error)
	TryLock(ctx context.Context) (held context.Context, unlock func() error, err error)
}

// of is a want of a lock.
func of(lock *rlock.Lock, weight int64, reads bool) want {
	return want{name: lock.Name(), weight: weight, reads: reads, by: lock, lock: lock}
}

// run does what the seed says, one thing after the other.
func (w *worker) run() {
	for range 1 + w.random.IntN(6) {
		time.Sleep(draw(w.random, lease/2) + time.Microsecond)
		name := w.names[w.random.IntN(len(w.names))]
		switch n := w.random.IntN(100); {
		case w.kind.steady:
			w.kind.act(w, name)
		case n < 1:
			w.close()
		case n < 4:
			w.store.Break()
		default:
			w.kind.act(w, name)
		}
	}
}

// close closes the client. What it says may name what is held. A Close that does not reach the server takes a quarter
// of its time at least: the rest may have been used up by releases before it.
func (w *worker) close() {
	began := time.Now()
	_ = w.client.Close()
	if time.Since(began) >= patient/4 {
		w.cutOff.Store(true)
	}
}

// hold asks for a hold, and seldom has one broken.
func (w *worker) hold(name string) {
	switch n := w.random.IntN(100); {
	case n < 2:
		w.book.breaking(name, 1)
		w.kind.breaks(w, name)
		w.book.breaking(name, -1)
	case n < 18:
		w.try(w.kind.want(w, name))
	default:
		w.wait(w.kind.want(w, name))
	}
}

// options are drawn for a lock: seldom any.
func (w *worker) options() []rlock.Option { return w.limited(time.Millisecond) }

// limited draws options for a lock. A MaxHold is not below least.
func (w *worker) limited(least time.Duration) (opts []rlock.Option) {
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxHold(least+draw(w.random, lease)))
	}
	if w.random.IntN(10) == 0 {
		opts = append(opts, w.fixed())
	}
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxWait(time.Millisecond+draw(w.random, lease)))
	}
	return opts
}

// retained is a want of a lock that is retained for some time, though it is unlocked before.
func (w *worker) retained(name string) want {
	least := time.Millisecond + draw(w.random, lease)
	what := of(rlock.New(w.client, name, rlock.MinHold(least)), 1, false)
	what.minHold = least
	return what
}

func (w *worker) fixed() rlock.Option {
	return rlock.FixedLease(shortestFixed + draw(w.random, longestFixed))
}

func (w *worker) try(what want) {
	call := w.book.begin(&wait{want: what, client: w.number})
	held, unlock, err := what.by.TryLock(context.Background())
	w.got(call, held, unlock, err)
}

func (w *worker) wait(what want) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch w.random.IntN(4) {
	case 0:
		ctx, cancel = w.patient(2 * lease)
	case 1:
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	call := w.book.begin(&wait{want: what, client: w.number, queues: true})
	held, unlock, err := what.by.Lock(ctx)
	w.got(call, held, unlock, err)
}

// got is the rest of a call.
func (w *worker) got(call *wait, held context.Context, unlock func() error, err error) {
	if err != nil {
		w.book.fail(call)
		w.mayFail(call.name, err)
		return
	}
	w.book.enter(call, held)
	w.work(held)
	after := func() {}
	if w.random.IntN(5) == 0 {
		after = w.kind.inside(w, call, held)
	}
	defer after()
	if w.random.IntN(12) == 0 && call.lock != nil {
		w.move(call, held, unlock)
		return
	}
	w.book.leave(call)
	if err := unlock(); err == nil {
		w.book.retain(call)
	}
}

// mayFail notes an error that there is no reason for.
func (w *worker) mayFail(name string, err error) {
	var fell *semaphore.CapacityError
	var bad *rlock.ArgumentError // the capacity is less than the permits that are asked for
	known := errors.As(err, &fell) || errors.As(err, &bad)
	for _, one := range []error{
		nil, rlock.ErrBusy, rlock.ErrUnavailable, rlock.ErrClosed, rlock.ErrNotHeld, context.DeadlineExceeded,
	} {
		known = known || errors.Is(err, one)
	}
	if !known {
		w.book.note("%q: a call of client %d failed with %v", name, w.number, err)
	}
}

// patient is a context that ends after most at the latest.
func (w *worker) patient(most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), draw(w.random, most))
}

// work takes time, mostly little.
func (w *worker) work(held context.Context) {
	if w.random.IntN(3) == 0 {
		return
	}
	d := draw(w.random, 3*lease)
	if w.random.IntN(2) == 0 {
		time.Sleep(d) // and looks at nothing
		return
	}
	select {
	case <-held.Done():
	case <-time.After(d):
	}
}

// nest takes one level more.
func (w *worker) nest(lock locker, held context.Context) {
	inner, unlock, err := lock.Lock(held)
	if err != nil {
		return
	}
	w.work(inner)
	_ = unlock()
}

// move takes the hold to another process. One that others joined, or that has another one inside, stays.
func (w *worker) move(call *wait, held context.Context, unlock func() error) {
	to := w.processes[w.random.IntN(len(w.processes))]
	w.book.leave(call)
	token, err := call.lock.Export(held)
	if err != nil {
		_ = unlock()
		return
	}
	w.book.moves(call.name, 1, time.Now())
	time.Sleep(draw(w.random, 2*lease))
	other := &worker{to, w.random}
	next := of(w.kind.same(other, call.want), call.weight, call.reads)
	again := w.book.begin(&wait{want: next, client: to.number, moved: true, after: call})
	moved, unlock, err := next.lock.Import(context.Background(), token)
	until := time.Now()
	if err != nil {
		until = until.Add(lease)
	}
	w.book.moves(call.name, -1, until)
	other.got(again, moved, unlock, err)
}
