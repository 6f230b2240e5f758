package simulation

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// permitRoom is the capacity. Workers lower it at times, and a keeper, who has no faults, puts that right.
const permitRoom = 3

var permitKind = kind{
	name: "semaphore", room: permitRoom, act: (*worker).hold,
	begin: func(w *world) func() {
		set := func() {
			for _, name := range w.names {
				if err := semaphore.New(w.keeper, name).SetCapacity(context.Background(), permitRoom); err != nil {
					w.book.note("%q: the keeper cannot set the capacity: %v", name, err)
				}
			}
		}
		return w.repeat(set)
	},
	want: func(w *worker, name string) want {
		n := 1 + w.random.Int64N(permitRoom)
		return want{name: name, weight: n, by: permits{semaphore.New(w.client, name, w.options()...), n}}
	},
	breaks: func(w *worker, name string) {
		s, ctx := semaphore.New(w.client, name), context.Background()
		switch w.random.IntN(3) {
		case 0:
			_ = s.SetCapacity(ctx, w.random.Int64N(permitRoom+1))
		case 1:
			_ = s.Delete(ctx)
		default:
			if info, err := s.Inspect(ctx); err == nil && len(info.Holders) > 0 {
				_ = s.Break(ctx, info.Holders[w.random.IntN(len(info.Holders))].ID)
			}
		}
	},
	inside: func(*worker, *wait, context.Context) func() { return func() {} },
	check: func(w *world) {
		for _, name := range w.names {
			if free := w.server.Free(name); free != permitRoom {
				w.book.note("%d of %d permits of %q are free when nobody has any", free, permitRoom, name)
			}
		}
	},
	idle: enough,
}

// enough reports that there is as much as the most that somebody waits for.
func enough(in *world, waits []*wait) bool {
	most := int64(0)
	for _, w := range waits {
		most = max(most, w.weight)
	}
	return in.server.Free(waits[0].name) >= most
}

// repeat does something now, over and over, and at the end.
func (w *world) repeat(do func()) (end func()) {
	do()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticks := time.NewTicker(lease / 2)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticks.C:
				do()
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		do()
	}
}

// permits is so many of a semaphore.
type permits struct {
	*semaphore.Semaphore
	n int64
}

func (p permits) Lock(ctx context.Context) (context.Context, func() error, error) {
	return p.Acquire(ctx, p.n)
}

func (p permits) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return p.TryAcquire(ctx, p.n)
}

var _ locker = (*rlock.Lock)(nil)
