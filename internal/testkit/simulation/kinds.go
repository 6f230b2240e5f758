package simulation

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// kind is what the locks of a schedule are.
type kind struct {
	name  string
	names []string // nil: one or two
	room  int64    // of each name, of which a want takes some; tokens are those of wants that take all

	// remembers says that the server tells a copy of a request by what it remembers until a time by its own clock:
	// where that is set back, a copy can count once more.
	remembers bool

	settles time.Duration // how long it takes from when the network is well until the locks are free, at most

	poll  time.Duration                         // how long a waiter goes without asking, at most; 0: a second
	bends func(net *network, random *rand.Rand) // makes the network one of its own; nil: as it is drawn

	steady bool // no client closes, no connection breaks, nobody gives up: an invited waiter comes, if it is reached

	queues bool // waiters are served in the order in which they came, whichever process they are in

	begin  func(w *world) (end func())  // makes what there has to be, and keeps it until all is done; nil: nothing
	act    func(w *worker, name string) // what a worker does
	want   func(w *worker, name string) want
	breaks func(w *worker, name string)
	same   func(w *worker, as want) *rlock.Lock                   // another process's handle
	inside func(w *worker, in *wait, held context.Context) func() // what is done inside a hold, and after it
	done   func(w *world)                                         // when every call has returned; nil: nothing
	check  func(w *world)                                         // at the end; nil: nothing
	idle   func(in *world, waits []*wait) (free bool)             // that somebody waits for what is there for it
}

// kinds are all. A seed has always the same one, as long as none is added.
var kinds = []*kind{&plainKind, &rwKind, &permitKind, &countKind, &latchKind, &fairKind, &multiKind,
	&redlockKind, &invitationKind, &runsKind, &keptKind, &commitsKind,
}

// polls is how long a waiter goes without asking, at most.
func (k *kind) polls() time.Duration { return cmp.Or(k.poll, time.Second) }

func breakLock(w *worker, name string) { _ = w.kind.want(w, name).lock.Break(context.Background()) }

var plainKind = kind{
	name: "lock", room: 1, act: (*worker).hold, breaks: breakLock,
	want: func(w *worker, name string) want {
		if w.random.IntN(8) == 0 {
			return w.retained(name)
		}
		return of(rlock.New(w.client, name, w.options()...), 1, false)
	},
	same: func(w *worker, as want) *rlock.Lock { return rlock.New(w.client, as.name) },
	inside: func(w *worker, in *wait, held context.Context) func() {
		lock := in.lock
		if w.random.IntN(3) == 0 {
			lock = rlock.New(w.client, in.name, w.fixed())
		}
		w.nest(lock, held)
		return func() {}
	},
	idle: func(in *world, waits []*wait) bool {
		exclusive, _ := in.server.Holds(waits[0].name)
		return exclusive == 0
	},
}

// commitsKind has locks as PostgreSQL has them: an acquisition is a transaction, of which nobody sees anything before
// its commit is over. That may wait, for a standby for example.
var commitsKind = func() kind {
	k := plainKind
	k.name = "commits"
	k.bends = func(net *network, random *rand.Rand) { net.commits = []float64{0.02, 0.1, 0.4}[random.IntN(3)] }
	return k
}()

// keptKind has locks that stay with a process which used them, among others that do not.
var keptKind = kind{
	name: "kept", room: 1, act: (*worker).hold, breaks: breakLock,
	want: func(w *worker, name string) want {
		if w.random.IntN(4) == 0 {
			return of(rlock.New(w.client, name, w.options()...), 1, false)
		}
		opts := []rlock.Option{rlock.Keep(time.Millisecond + draw(w.random, engine.KeepMost-time.Millisecond))}
		if w.random.IntN(8) == 0 {
			opts = append(opts, rlock.MaxWait(time.Millisecond+draw(w.random, lease)))
		}
		return of(rlock.New(w.client, name, opts...), 1, false)
	},
	same: plainKind.same, inside: plainKind.inside,
	idle: func(in *world, waits []*wait) bool {
		id := in.server.Holder(waits[0].name)
		return id == "" || in.keeps(id)
	},
}

// keeps reports that what stands in the store is an idle grant of a process, which has to let it go. That no process
// holds the lock would not be enough. A hold that was exported is on its way. And a copy of an acquisition that finds
// its hold released takes the lock for nobody (see copies). Both stand for a lease, which a copy of a renewal makes
// longer, while a lease is about as long as a lock may be free.
func (w *world) keeps(id string) bool {
	for _, p := range w.processes {
		core, _ := (*redisclient.Client)(p.client).Core()
		_, idle, _ := core.Engine.Locals()
		for _, g := range idle {
			if g.ID == id {
				return true
			}
		}
	}
	return false
}

// rwRoom is more than there are readers.
const rwRoom = 1000

var rwKind = kind{
	name: "rwlock", room: rwRoom, act: (*worker).hold, breaks: breakLock,
	want: func(w *worker, name string) want {
		lock := rwlock.New(w.client, name, w.options()...)
		if w.random.IntN(2) == 0 {
			return of(lock.Read(), 1, true)
		}
		return of(lock.Write(), rwRoom, false)
	},
	same:   func(w *worker, as want) *rlock.Lock { return side(rwlock.New(w.client, as.name), as.reads) },
	inside: insideRW,
	idle: func(in *world, waits []*wait) bool {
		exclusive, shared := in.server.Holds(waits[0].name)
		for _, w := range waits {
			if !w.reads {
				return exclusive+shared == 0
			}
		}
		return exclusive == 0
	},
}

func side(lock *rwlock.Lock, reads bool) *rlock.Lock {
	if reads {
		return lock.Read()
	}
	return lock.Write()
}

// insideRW enters the same side once more, or reads inside a write: within it, beyond it, or from a goroutine that may
// come when the write is over.
func insideRW(w *worker, in *wait, held context.Context) func() {
	lock := rwlock.New(w.client, in.name)
	if w.random.IntN(3) == 0 {
		lock = rwlock.New(w.client, in.name, w.fixed())
	}
	if in.reads || w.random.IntN(3) == 0 {
		w.nest(side(lock, in.reads), held)
		return func() {}
	}
	if w.random.IntN(2) == 0 {
		held = context.WithoutCancel(held)
	}
	what := of(lock.Read(), 1, true)
	switch w.random.IntN(3) {
	case 0:
		var reading sync.WaitGroup
		other := &worker{w.process, rand.New(rand.NewPCG(w.seed, w.random.Uint64()))}
		reading.Go(func() {
			ctx, cancel := context.WithTimeout(held, 2*lease) // behind a writer that waits for a read of this worker's
			defer cancel()
			other.read(what, in, nil, ctx)()
		})
		return reading.Wait
	case 1:
		return w.read(what, in, in, held)
	}
	w.read(what, in, in, held)()
	return func() {}
}

// read reads inside a write, until leave is called. Without outer the write may be over by then.
func (w *worker) read(what want, in, outer *wait, held context.Context) (leave func()) {
	call := w.book.begin(&wait{
		want: what, client: w.number, outer: outer, after: in,
	})
	reading, unlock, err := what.lock.Lock(held)
	if err != nil {
		w.book.fail(call)
		return func() {}
	}
	w.book.enter(call, reading)
	return func() {
		w.work(reading)
		w.book.leave(call)
		_ = unlock()
	}
}
