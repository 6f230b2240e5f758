package simulation

import (
	"context"

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
