package simulation

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

// book knows who waits for each lock and who has it, as the callers see it, and notes what must not be.
type book struct {
	kind    *kind
	orderly bool          // waiters are held to their order
	place   time.Duration // after it was called, in a lock's queue at the latest, where waiters are held to their order
	unclear time.Duration // how long a Break may be under way, and one that it hit not know

	mu       sync.Mutex // guards all below
	locks    map[string]*record
	problems []string
}

// record is what is known of one lock.
type record struct {
	waits   map[*wait]struct{}
	holds   map[*wait]struct{} // those of which the unlock has not begun
	newest  int64              // token of a hold that excludes all others
	read    int64              // the newest that a shared one had
	enters  int
	breaks  int               // that are under way
	struck  bool              // there was one
	strikes int               // begins and ends of them
	unclear time.Time         // until when holds without ids may be of what a Break took away
	gaveUp  map[int]time.Time // by client: when one of its waiters did last
	adrift  int               // holds that are on their way to another process, where their leases may run out
	drifted time.Time         // until when that was so
	broken  map[string]bool   // ids that a Break may have taken away though their holders have not learnt yet

	left     time.Time // when the last unlock began
	retained time.Time // until when nobody may have it after an unlock

	free time.Time // since when nobody has had it while somebody waited; zero: they do not
	seen int       // enters by then
}

// wait is a call that wants the lock, and then the hold that it got.
type wait struct {
	*record
	want
	client   int
	called   time.Time
	queues   bool      // by Lock: its place in the process's queue counts
	moved    bool      // by Import: the token stays
	outer    *wait     // the hold that it is inside
	after    *wait     // the hold that it goes on as, or came out of
	origin   *wait     // the first of holds that go on as one another, or are inside one another
	tainted  bool      // a Break was under way meanwhile
	overtook *wait     // came later, and was served while this one waits
	served   time.Time // when it was, if it was held to the order
	since    time.Time // it was acquired no earlier
	entered  int       // enters with it
	before   int       // strikes when the unlock began

	held context.Context
	hold rlock.Hold
}

func newBook(kind *kind, net *network) *book {
	return &book{
		kind: kind, orderly: net.orderly(kind.polls()), locks: make(map[string]*record),
		place: roundTrips * 2 * net.lag, unclear: net.longest() + 2*lease,
	}
}

func (b *book) record(name string) *record {
	r := b.locks[name]
	if r == nil {
		r = &record{
			waits: make(map[*wait]struct{}), holds: make(map[*wait]struct{}), broken: make(map[string]bool),
			gaveUp: make(map[int]time.Time),
		}
		b.locks[name] = r
	}
	return r
}

func (b *book) noteLocked(text string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(text, args...))
}

func (b *book) note(text string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.noteLocked(text, args...)
}

// begin notes a call before it is made.
func (b *book) begin(w *wait) *wait {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.record = b.record(w.name)
	w.called = time.Now()
	w.tainted, w.origin = w.breaks > 0, w
	if w.after != nil {
		w.tainted, w.origin = w.tainted || w.after.tainted, w.after.origin
	}
	w.waits[w] = struct{}{}
	return w
}

// fail notes that the call returned an error. Its process may use the turn of a call that gives up for a later one. It
// may do so some round trips before the call returns, which asks the store to undo what it began. So a call that was
// overtaken since then is looked at again.
func (b *book) fail(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.waits, w)
	now := time.Now()
	w.gaveUp[w.client] = now
	gives := now.Add(-b.place)
	for other := range w.waits {
		if by := other.overtook; by != nil && !by.served.Before(gives) && !b.aheadLocked(other, by) {
			other.overtook = nil
		}
	}
}

// enter notes that the call returned a hold. One that has ended by then is not looked at: the next holder may have
// been noted before.
func (b *book) enter(w *wait, held context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.waits, w)
	w.held = held
	if w.lock != nil {
		hold, err := w.lock.Held(held)
		if err != nil {
			return
		}
		w.hold = hold
	}
	hold := w.hold
	w.since = later(w.called, w.left)
	// A copy of the acquisition that comes late can bring a hold back that was broken; exported, it moves with the
	// token of before the Break.
	w.tainted = w.tainted || w.broken[hold.ID] || w.moved && w.struck || w.lock == nil && time.Now().Before(w.unclear)
	taken, believer := w.weight, (*wait)(nil)
	for other := range w.holds {
		if other.held.Err() == nil && !other.tainted && !w.broken[other.hold.ID] && other.origin != w.origin {
			taken, believer = taken+other.weight, other
		}
	}
	switch {
	case held.Err() != nil: // it ended while the others were looked at
		return
	case w.tainted && w.lock != nil:
		w.broken[hold.ID] = true
	case w.tainted:
	case taken > b.kind.room:
		b.noteLocked("%q is held twice, %d of %d: %v of client %d, and %v of client %d",
			w.name, taken, b.kind.room, believer.hold, believer.client, hold, w.client)
	case w.outer == nil && w.after == nil && time.Now().Before(w.retained):
		b.noteLocked("%q: client %d has it %v before it may, after a hold with a MinHold",
			w.name, w.client, time.Until(w.retained))
	case !w.tokenFits():
		b.noteLocked("%q: token %d of client %d after %d of a hold that excludes and %d of a shared one",
			w.name, hold.Fence, w.client, w.newest, w.read)
	}
	if w.reads {
		w.read = max(w.read, hold.Fence)
	} else {
		w.newest = max(w.newest, hold.Fence)
	}
	w.enters++
	w.entered = w.enters
	w.holds[w] = struct{}{}
	b.orderLocked(w)
}

// tokenFits reports that the token is above all before it; that of a shared hold not below one that excludes, and that
// of a hold inside another one, which lives, the same.
func (w *wait) tokenFits() bool {
	switch {
	case w.lock == nil:
		return true
	case w.outer != nil && w.outer.held.Err() == nil:
		return w.hold.Fence == w.outer.hold.Fence
	case w.reads:
		return w.hold.Fence >= w.newest
	case w.moved:
		return w.hold.Fence >= max(w.newest, w.read)
	}
	return w.hold.Fence > max(w.newest, w.read)
}

// orderLocked looks whether one that called earlier in the same process is served later, which those that share may be.
// That it waits still says nothing yet: it may be giving up.
func (b *book) orderLocked(w *wait) {
	if !b.orderly || !w.queues || w.tainted || w.lock == nil {
		return
	}
	if by := w.overtook; by != nil {
		b.noteLocked("%q: client %d called at %v, and was served after client %d, which called at %v", w.name,
			w.client, w.called.Format(clock), by.client, by.called.Format(clock))
	}
	w.served = time.Now()
	for other := range w.waits {
		if other.queues && !(other.reads && w.reads) && b.aheadLocked(other, w) {
			other.overtook = w
		}
	}
}

// roundTrips is how many a call has to wait for at most before it has its place: that of a registration that was under
// way when it came, of one that only told the time, and its own.
const roundTrips = 4

// aheadLocked reports that a call that waits goes before another one: if it came earlier in the same process, or into
// a queue that all processes have. There a process may have the turn of one of its calls that gave up while it was
// being registered or invited, until no request that does that can come any more; and the process of a hold whose lease
// ran out is passed over.
func (b *book) aheadLocked(w, of *wait) bool {
	switch {
	case w.stranger || of.stranger:
		return w.stranger == of.stranger && w.client == of.client && w.called.Before(of.called)
	case w.client == of.client:
		return w.called.Before(of.called)
	}
	left := of.gaveUp[of.client]
	return b.kind.queues && w.called.Add(b.place).Before(of.called) && left.Add(lease/6).Before(of.called) &&
		w.adrift == 0 && w.called.After(w.drifted)
}

const clock = "15:04:05.000000"

// leave notes that the hold is about to end.
func (b *book) leave(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.holds, w)
	w.left, w.before = time.Now(), w.strikes
}

// moves notes that a hold begins to be on its way to another process, or until when its lease may run out there.
func (b *book) moves(name string, by int, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(name)
	r.adrift += by
	r.drifted = later(r.drifted, until)
}

// retain notes that an unlock was carried out, of a hold whose lock may be retained. A Break ends it all the
// same, also before the unlock was answered.
func (b *book) retain(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.minHold == 0 || w.tainted || w.since.IsZero() || w.strikes != w.before {
		return
	}
	if until := w.since.Add(w.minHold); w.enters == w.entered {
		w.retained = later(w.retained, until)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// breaking notes the begin, or the end, of a Break. It may take away whatever is held or granted meanwhile.
func (b *book) breaking(name string, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(name)
	r.breaks += by
	r.strikes++
	r.struck, r.retained = true, time.Time{}
	for w := range r.waits {
		w.tainted = true
	}
	for w := range r.holds {
		w.tainted = true
		if w.lock != nil {
			r.broken[w.hold.ID] = true
		}
	}
	r.unclear = time.Now().Add(b.unclear)
}

// entersLocked counts who had the lock, or a member of the set: a set may wait for those who want one of its names.
func (b *book) entersLocked(name string) (n int) {
	for member := range strings.FieldsSeq(name) {
		if r := b.locks[member]; r != nil {
			n += r.enters
		}
	}
	return n
}

// look notes which locks are free though somebody waits, and have been for longer than they may.
func (b *book) look(in *world, most time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, r := range b.locks {
		var waits []*wait
		for w := range r.waits {
			if w.queues {
				waits = append(waits, w)
			}
		}
		enters := b.entersLocked(name)
		if len(waits) == 0 || r.seen != enters || !b.kind.idle(in, waits) {
			r.free, r.seen = time.Time{}, enters
			continue
		}
		if r.free.IsZero() {
			r.free = time.Now()
		}
		if free := time.Since(r.free); free > most {
			b.noteLocked("%q has been free for %v while %d wait", name, free, len(waits))
			r.free = time.Now()
		}
	}
}
