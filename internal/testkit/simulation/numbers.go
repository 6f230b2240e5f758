package simulation

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// tally is what is known of a number that nobody holds.
type tally struct {
	mu          sync.Mutex // guards both
	least, most int64      // what has to be there
}

// adds notes a change that was, or may have been, carried out.
func (t *tally) adds(least, most int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.least, t.most = t.least+least, t.most+most
}

func (t *tally) bounds() (least, most int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.least, t.most
}

// checkTallies compares what is there with what has to be.
func checkTallies(w *world) {
	for name, t := range w.tallies {
		least, most := t.bounds()
		if n := w.server.Free(name); n < max(least, 0) || n > max(most, 0) {
			w.book.note("%q is %d at the end, and has to be between %d and %d", name, n, least, most)
		}
	}
}

// number starts each name with n.
func (w *world) number(n int64, set func(name string) error) {
	for _, name := range w.names {
		if err := set(name); err != nil {
			w.book.note("%q: the keeper cannot set the number: %v", name, err)
		}
		w.tallies[name] = &tally{least: n, most: n}
	}
}

const countRoom = 3

var countKind = kind{
	name: "counting", room: countRoom, remembers: true, act: (*worker).count, check: checkTallies, idle: enough,
	begin: func(w *world) func() {
		w.number(countRoom, func(name string) error {
			return semaphore.NewCounting(w.keeper, name).Set(context.Background(), countRoom)
		})
		return func() {}
	},
}

// count takes permits and gives them back. What it gave up is undone.
func (w *worker) count(name string) {
	n := 1 + w.random.Int64N(countRoom)
	s, tally := semaphore.NewCounting(w.client, name), w.tallies[name]
	ctx, cancel := w.patient(4 * lease)
	defer cancel()
	call := w.book.begin(&wait{want: want{name: name, weight: n}, client: w.number, queues: w.random.IntN(4) > 0})
	var err error
	if call.queues {
		err = s.Acquire(ctx, n)
	} else {
		err = s.TryAcquire(ctx, n)
	}
	if err != nil {
		if errors.Is(err, rlock.ErrClosed) {
			tally.adds(-n, 0) // Close gives a server up that does not answer, and these permits have no lease
		}
		w.book.fail(call)
		w.mayFail(name, err)
		return
	}
	w.book.enter(call, context.Background())
	w.work(ctx)
	w.book.leave(call)
	switch err := s.Release(context.Background(), n); {
	case err == nil:
	case errors.Is(err, rlock.ErrUnavailable), errors.Is(err, rlock.ErrClosed):
		tally.adds(-n, 0)
	default:
		w.mayFail(name, err)
	}
}

// latchCount is what each latch is set to, once.
const latchCount = 4

var latchKind = kind{
	name: "latch", remembers: true, act: (*worker).latch, check: checkTallies,
	begin: func(w *world) func() {
		w.number(latchCount, func(name string) error {
			return latch.New(w.keeper, name).Set(context.Background(), latchCount)
		})
		return func() {}
	},
	idle: func(in *world, waits []*wait) bool { return in.server.Free(waits[0].name) == 0 },
}

// latch counts down, or waits until all have.
func (w *worker) latch(name string) {
	l, tally := latch.New(w.client, name), w.tallies[name]
	ctx, cancel := w.patient(4 * lease)
	defer cancel()
	if w.random.IntN(2) == 0 {
		tally.adds(-1, 0)
		err := l.CountDown(ctx)
		if err == nil {
			tally.adds(0, -1)
		}
		w.mayFail(name, err)
		return
	}
	call := w.book.begin(&wait{want: want{name: name}, client: w.number, queues: true})
	err := l.Wait(ctx)
	w.book.fail(call)
	w.mayFail(name, err)
	if least, _ := tally.bounds(); err == nil && least > 0 {
		w.book.note("%q is open for client %d, and %d were not counted down", name, w.number, least)
	}
}
