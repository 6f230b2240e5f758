package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
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
	lock   *rlock.Lock
}

// run does what the seed says, one thing after the other.
func (w *worker) run() {
	for range 1 + w.random.IntN(6) {
		time.Sleep(draw(w.random, lease/2) + time.Microsecond)
		name := w.names[w.random.IntN(len(w.names))]
		switch n := w.random.IntN(100); {
		case n < 2:
			w.breaks(name)
		case n < 3:
			_ = w.client.Close() // it may name what is held
		case n < 6:
			w.store.Break()
		case n < 22:
			w.try(w.kind.want(w, name))
		default:
			w.wait(w.kind.want(w, name))
		}
	}
}

func (w *worker) breaks(name string) {
	w.book.breaking(name, 1)
	defer w.book.breaking(name, -1)
	_ = w.kind.want(w, name).lock.Break(context.Background())
}

// options are drawn for a lock: seldom any.
func (w *worker) options() (opts []rlock.Option) {
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxHold(time.Millisecond+draw(w.random, lease)))
	}
	if w.random.IntN(10) == 0 {
		opts = append(opts, w.fixed())
	}
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxWait(time.Millisecond+draw(w.random, lease)))
	}
	return opts
}

func (w *worker) fixed() rlock.Option {
	return rlock.FixedLease(shortestFixed + draw(w.random, longestFixed))
}

func (w *worker) try(what want) {
	call := w.book.begin(&wait{want: what, client: w.number})
	held, unlock, err := what.lock.TryLock(context.Background())
	w.got(call, held, unlock, err)
}

func (w *worker) wait(what want) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch w.random.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, draw(w.random, 2*lease))
	case 1:
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	call := w.book.begin(&wait{want: what, client: w.number, queues: true})
	held, unlock, err := what.lock.Lock(ctx)
	w.got(call, held, unlock, err)
}

// got is the rest of a call.
func (w *worker) got(call *wait, held context.Context, unlock func() error, err error) {
	if err != nil {
		w.book.fail(call)
		if !anyOf(err, rlock.ErrBusy, rlock.ErrUnavailable, rlock.ErrClosed, rlock.ErrNotHeld,
			context.DeadlineExceeded) {
			w.book.note("%q: a call of client %d failed with %v", call.name, w.number, err)
		}
		return
	}
	w.book.enter(call, held)
	w.work(held)
	after := func() {}
	if w.random.IntN(5) == 0 {
		after = w.kind.inside(w, call, held)
	}
	defer after()
	if w.random.IntN(12) == 0 {
		w.move(call, held, unlock)
		return
	}
	w.book.leave(call)
	_ = unlock()
}

func anyOf(err error, all ...error) bool {
	return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
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
func (w *worker) nest(lock *rlock.Lock, held context.Context) {
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
	time.Sleep(draw(w.random, 2*lease))
	other := &worker{to, w.random}
	next := call.want
	next.lock = w.kind.same(other, call.want)
	again := w.book.begin(&wait{want: next, client: to.number, moved: true, origin: call.origin, tainted: call.tainted})
	moved, unlock, err := next.lock.Import(context.Background(), token)
	other.got(again, moved, unlock, err)
}
