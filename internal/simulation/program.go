package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
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
			w.try(name)
		default:
			w.lock(name)
		}
	}
}

func (w *worker) breaks(name string) {
	w.book.breaking(name, 1)
	defer w.book.breaking(name, -1)
	_ = rlock.New(w.client, name).Break(context.Background())
}

// options are drawn for a lock: seldom any.
func (w *worker) options() (opts []rlock.Option) {
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxHold(time.Millisecond+draw(w.random, lease)))
	}
	if w.random.IntN(10) == 0 {
		opts = append(opts, rlock.FixedLease(shortestFixed+draw(w.random, longestFixed)))
	}
	if w.random.IntN(8) == 0 {
		opts = append(opts, rlock.MaxWait(time.Millisecond+draw(w.random, lease)))
	}
	return opts
}

func (w *worker) try(name string) {
	lock := rlock.New(w.client, name, w.options()...)
	wait := w.book.begin(w.number, name, false, false)
	held, unlock, err := lock.TryLock(context.Background())
	w.got(wait, lock, held, unlock, err)
}

func (w *worker) lock(name string) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch w.random.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, draw(w.random, 2*lease))
	case 1:
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	lock := rlock.New(w.client, name, w.options()...)
	wait := w.book.begin(w.number, name, true, false)
	held, unlock, err := lock.Lock(ctx)
	w.got(wait, lock, held, unlock, err)
}

// got is the rest of a call.
func (w *worker) got(
	wait *wait, lock *rlock.Lock, held context.Context, unlock func() error, err error,
) {
	if err != nil {
		w.book.fail(wait)
		if !errors.Is(err, rlock.ErrBusy) && !errors.Is(err, rlock.ErrUnavailable) &&
			!errors.Is(err, rlock.ErrClosed) && !errors.Is(err, rlock.ErrNotHeld) &&
			!errors.Is(err, context.DeadlineExceeded) {
			w.book.note("%q: a call of client %d failed with %v", wait.name, w.number, err)
		}
		return
	}
	w.book.enter(wait, lock, held)
	w.work(held)
	if w.random.IntN(5) == 0 {
		w.nest(lock, held)
	}
	if w.random.IntN(12) == 0 {
		w.move(wait, lock, held)
		return
	}
	w.book.leave(wait)
	_ = unlock()
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

// nest takes one level more, at times with a lease of its own.
func (w *worker) nest(lock *rlock.Lock, held context.Context) {
	if w.random.IntN(3) == 0 {
		fixed := rlock.FixedLease(shortestFixed + draw(w.random, longestFixed))
		lock = rlock.New(w.client, lock.Name(), fixed)
	}
	inner, unlock, err := lock.Lock(held)
	if err != nil {
		return
	}
	w.work(inner)
	_ = unlock()
}

// move takes the hold to another process.
func (w *worker) move(wait *wait, lock *rlock.Lock, held context.Context) {
	to := w.processes[w.random.IntN(len(w.processes))]
	w.book.leave(wait)
	token, err := lock.Export(held)
	if err != nil {
		return
	}
	time.Sleep(draw(w.random, 2*lease))
	other := &worker{to, w.random}
	lock = rlock.New(to.client, lock.Name())
	again := w.book.begin(to.number, lock.Name(), false, true)
	w.book.inherit(again, wait)
	moved, unlock, err := lock.Import(context.Background(), token)
	other.got(again, lock, moved, unlock, err)
}
