package simulation

import (
	"context"
	"strings"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// sharedName is the name of a read-write lock in half of the schedules of sets; the others are plain locks.
const sharedName = "d"

// multiKind is the set of locks, beside callers that want one of its names alone. A plain lock of a set is taken with
// the set's other plain ones by one request; a side of a read-write lock is taken by one of its own.
var multiKind = kind{
	name: "multilock", room: rwRoom, names: []string{"a", "b", "c", sharedName}, breaks: breakLock,
	act: func(w *worker, name string) {
		if w.random.IntN(2) == 0 {
			w.hold(name)
			return
		}
		w.set()
	},
	want: func(w *worker, name string) want {
		return w.member(name, w.random.IntN(2) == 0, w.setOptions()...)
	},
	same: func(w *worker, as want) *rlock.Lock { return w.member(as.name, as.reads).lock },
	inside: func(w *worker, in *wait, held context.Context) func() {
		w.nest(in.lock, held)
		return func() {}
	},
	idle: func(in *world, waits []*wait) bool {
		for name := range strings.FieldsSeq(waits[0].name) {
			if exclusive, shared := in.server.Holds(name); exclusive+shared > 0 {
				return false
			}
		}
		return true
	},
}

// shares reports that a name is that of a read-write lock.
func (w *world) shares(name string) bool { return name == sharedName && w.seed%2 == 0 }

// member is a want of one name: of the side that reads or the one that writes, if it has sides.
func (w *worker) member(name string, reads bool, opts ...rlock.Option) want {
	switch {
	case !w.shares(name):
		return of(rlock.New(w.client, name, opts...), rwRoom, false)
	case reads:
		return of(rwlock.New(w.client, name, opts...).Read(), 1, true)
	}
	return of(rwlock.New(w.client, name, opts...).Write(), rwRoom, false)
}

// setOptions have no MaxHold that is over before the members of a set have been asked for, one after the other: such a
// set is never held.
func (w *worker) setOptions() []rlock.Option { return w.limited(shortestFixed) }

// set asks for two to four of the names, in any order.
func (w *worker) set() {
	var members []want
	var locks []*rlock.Lock
	for _, i := range w.random.Perm(len(w.names))[:2+w.random.IntN(len(w.names)-1)] {
		one := w.kind.want(w, w.names[i])
		members, locks = append(members, one), append(locks, one.lock)
	}
	set := multilock.New(locks, w.setOptions()...)
	tries := w.random.IntN(5) == 0
	calls := w.beginSet(set, members, !tries)
	if tries {
		held, unlock, err := set.TryLock(context.Background())
		w.gotSet(set, calls, held, unlock, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	if w.random.IntN(4) == 0 {
		ctx, cancel = w.patient(2 * lease)
	}
	defer cancel()
	held, unlock, err := set.Lock(ctx)
	w.gotSet(set, calls, held, unlock, err)
}

// beginSet notes a call: first the set as a whole, which takes nothing and is kept from progress only while one of
// its names is held, then each member. No order is kept between a set and those who want one of its names.
func (w *worker) beginSet(set *multilock.Lock, members []want, queues bool) []*wait {
	whole := want{name: strings.Join(set.Names(), " "), by: set}
	calls := []*wait{w.book.begin(&wait{want: whole, client: w.number, queues: queues})}
	for _, one := range members {
		calls = append(calls, w.book.begin(&wait{want: one, client: w.number}))
	}
	return calls
}

// gotSet is the rest of a call.
func (w *worker) gotSet(
	set *multilock.Lock, calls []*wait, held context.Context, unlock func() error, err error,
) {
	name := calls[0].name
	if err != nil {
		for _, call := range calls {
			w.book.fail(call)
			if call.lock != nil && holds(call.lock, held) {
				w.book.note("%q: client %d has %q though the set failed with %v", name, w.number, call.name, err)
			}
		}
		w.mayFail(name, err)
		return
	}
	for _, call := range calls {
		w.book.enter(call, held)
	}
	w.whole(calls, held)
	w.work(held)
	if w.random.IntN(5) == 0 {
		w.nestSet(set, calls[1+w.random.IntN(len(calls)-1)].lock, held)
	}
	for _, call := range calls {
		w.book.leave(call)
	}
	_ = unlock()
	if held.Err() == nil {
		w.book.note("%q: the context of a set of client %d is live after its unlock", name, w.number)
	}
}

// whole notes a set that has not all of its members, or plain ones by more than one grant: it has inherited one.
func (w *worker) whole(calls []*wait, held context.Context) {
	id := ""
	for _, call := range calls[1:] {
		hold, err := call.lock.Held(held)
		switch {
		case held.Err() != nil:
			return // a member was lost
		case err != nil:
			w.book.note("%q: client %d has the set without %q: %v", calls[0].name, w.number, call.name, err)
		case w.shares(call.name):
		case id != "" && hold.ID != id:
			w.book.note("%q: the set of client %d has inherited a member: %s and %s", calls[0].name, w.number,
				id, hold.ID)
		default:
			id = hold.ID
		}
	}
}

// nestSet enters one member once more, or the whole set.
func (w *worker) nestSet(set *multilock.Lock, member *rlock.Lock, held context.Context) {
	if w.random.IntN(2) == 0 {
		w.nest(member, held)
		return
	}
	w.nest(set, held)
}

func holds(lock *rlock.Lock, held context.Context) bool {
	_, err := lock.Held(held)
	return err == nil
}
