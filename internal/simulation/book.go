package simulation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// book knows who waits for each lock and who has it, as the callers see it, and notes what must not be.
type book struct {
	orderly bool // waiters are held to their order

	mu       sync.Mutex // guards all below
	locks    map[string]*record
	problems []string
}

// record is what is known of one lock.
type record struct {
	name   string
	waits  map[*wait]struct{}
	holds  map[*wait]struct{} // those of which the unlock has not begun
	newest int64
	enters int
	breaks int             // that are under way
	struck bool            // there was one
	broken map[string]bool // ids that a Break may have taken away though their holders have not learnt yet

	free time.Time // since when nobody has had it while somebody waited; zero: they do not
	seen int       // enters by then
}

// wait is a call that wants the lock, and then the hold that it got.
type wait struct {
	*record
	client   int
	called   time.Time
	queues   bool // by Lock: its place in the process's queue counts
	moved    bool // by Import: the token stays
	tainted  bool // a Break was under way meanwhile
	overtook *wait

	held context.Context
	hold rlock.Hold
}

func newBook(orderly bool) *book {
	return &book{orderly: orderly, locks: make(map[string]*record)}
}

func (b *book) record(name string) *record {
	r := b.locks[name]
	if r == nil {
		r = &record{
			name: name, waits: make(map[*wait]struct{}), holds: make(map[*wait]struct{}), broken: make(map[string]bool),
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
func (b *book) begin(client int, name string, queues, moved bool) *wait {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(name)
	w := &wait{record: r, client: client, called: time.Now(), queues: queues, moved: moved, tainted: r.breaks > 0}
	r.waits[w] = struct{}{}
	return w
}

// fail notes that the call returned an error.
func (b *book) fail(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.waits, w)
}

// enter notes that the call returned a hold. One that has ended by then is not looked at: who came after it may have
// been noted before.
func (b *book) enter(w *wait, lock *rlock.Lock, held context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.waits, w)
	hold, err := lock.Held(held)
	if err != nil {
		return
	}
	w.held, w.hold = held, hold
	// A copy of the acquisition that comes late can bring a hold back that was broken; exported, it moves with the
	// token of before the Break.
	w.tainted = w.tainted || w.broken[hold.ID] || w.moved && w.struck
	var believer *wait
	for other := range w.holds {
		if other.held.Err() == nil && !other.tainted && !w.broken[other.hold.ID] {
			believer = other
		}
	}
	newest := w.newest
	if w.moved {
		newest--
	}
	switch {
	case held.Err() != nil: // it ended while the others were looked at
		return
	case w.tainted:
		w.broken[hold.ID] = true
	case believer != nil:
		b.noteLocked("%q is held twice: %v of client %d, and %v of client %d",
			w.name, believer.hold, believer.client, hold, w.client)
	case hold.Fence <= newest:
		b.noteLocked("%q: token %d of client %d after %d", w.name, hold.Fence, w.client, w.newest)
	}
	w.newest = max(w.newest, hold.Fence)
	w.enters++
	w.holds[w] = struct{}{}
	b.orderLocked(w)
}

// orderLocked looks whether one that called earlier in the same process is served later. That it waits still says
// nothing yet: it may be giving up.
func (b *book) orderLocked(w *wait) {
	if !b.orderly || !w.queues || w.tainted {
		return
	}
	if w.overtook != nil {
		b.noteLocked("%q: client %d served who called at %v before who called at %v", w.name, w.client,
			w.overtook.called.Format(clock), w.called.Format(clock))
	}
	for other := range w.waits {
		if other.queues && other.client == w.client && other.called.Before(w.called) {
			other.overtook = w
		}
	}
}

const clock = "15:04:05.000000"

// leave notes that the hold is about to end.
func (b *book) leave(w *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(w.holds, w)
}

// breaking notes the begin, or the end, of a Break. It may take away whatever is held or granted meanwhile.
func (b *book) breaking(name string, by int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.record(name)
	r.breaks += by
	r.struck = true
	for w := range r.waits {
		w.tainted = true
	}
	for w := range r.holds {
		w.tainted, r.broken[w.hold.ID] = true, true
	}
}

// inherit notes that a hold goes on as another one, and that what a Break took away stays taken.
func (b *book) inherit(w, from *wait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.tainted = w.tainted || from.tainted
}

// look notes which locks are free though somebody waits, and have been for longer than they may.
func (b *book) look(server *memstore.Server, most time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.locks {
		waiting := 0
		for w := range r.waits {
			if w.queues {
				waiting++
			}
		}
		if waiting == 0 || r.seen != r.enters || server.Holder(r.name) != "" {
			r.free, r.seen = time.Time{}, r.enters
			continue
		}
		if r.free.IsZero() {
			r.free = time.Now()
		}
		if free := time.Since(r.free); free > most {
			b.noteLocked("%q has been free for %v while %d wait", r.name, free, waiting)
			r.free = time.Now()
		}
	}
}
