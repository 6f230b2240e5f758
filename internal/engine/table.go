package engine

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/wake"
	"github.com/holdfast-go/holdfast/watchdog"
)

// table is what the process knows of each name without asking Redis: the live holds, the line of
// waiters, and the run of hand-offs. It is split so that names do not wait for one another.
type table struct {
	engine *Engine
	seed   maphash.Seed
	once   sync.Once
	parts  [64]part
}

type part struct {
	mu   sync.Mutex // guards rows and everything in them
	rows map[string]*row

	// The last ones that nobody needed any more, for the next who needs one.
	spareRow  *row
	spareLine *line
}

// row is one name. It exists while somebody holds or waits. What only matters while somebody waits is
// kept apart, since most names that are held are not waited for.
type row struct {
	hold *Hold  // one that lives
	more *crowd // the others, of a kind of which several can be held
	line *line
}

// line is those who wait for a name, in order of arrival.
type line struct {
	first, last *waiter

	blocking int  // those in line whom others stay behind
	calm     bool // nobody in line was queued when that was looked at last

	turns  int           // hand-offs by a script since the name was last taken through Redis
	passed int           // those without one
	since  time.Duration // when the first of them was
	trip   time.Duration // how long it took to take the name through Redis, or to hand it on there
	out    time.Duration // until then the process leaves the name to others, unless it hears them

	others int        // who besides this process is thought to want the name, as the last run ended
	absent int        // who heard of that end too, and is not: it did not come the time before
	owes   int        // messages that it lets pass for that
	heard  wake.Count // the messages up to which owes was reckoned

	registrar bool // somebody registers those who have no place in Redis's queue

	silent error         // why Redis does not answer whoever leads; nil while it does
	spoke  time.Duration // when it last did, as far as that matters: while silent is set
}

// place is where a waiter stands.
type place int

const (
	queued   place = iota // behind somebody
	leading               // it may ask Redis
	offered               // a hand-off to it is under way
	granted               // the hold is its
	gone                  // it left
	deserted              // it left an offer: the one who hands on cleans up after it
)

// waiter is one Lock call that did not get its hold yet. Its fields below the line are guarded by the
// part of the table that its name is in.
type waiter struct {
	req    Request
	since  time.Duration
	under  string        // the hold of another side under which it passes the line
	gang   *gang         // it stands for several requests; req is the one in whose line it is
	once   bool          // it is not going to wait
	notify chan struct{} // its place changed; capacity 1; nil for who did not have to stand in line
	why    error         // what is said if it is refused, where that is not "busy"
	denied denial        // of its requests, by its present id

	id          string
	ticket      int64 // its place in Redis's queue, if there is one; 0: none yet
	entering    int64 // server time, µs, until which a registration in the queue may be carried out; 0: none is
	registering bool  // such a request is under way
	refused     bool  // it was told to wait, by Redis or by a hold of this process
	place       place
	hold        *Hold
	failed      error // the hand-off to it failed for good
	next, prev  *waiter
	listed      bool

	stale watchdog.Timer // notes that it stands behind its own client for long
}

func (w *waiter) tell() {
	select {
	case w.notify <- struct{}{}:
	default:
	}
}

func (t *table) part(key string) *part {
	t.once.Do(func() { t.seed = maphash.MakeSeed() })
	return &t.parts[maphash.String(t.seed, key)%uint64(len(t.parts))]
}

func (p *part) row(key string) *row {
	r := p.rows[key]
	if r == nil {
		if p.rows == nil {
			p.rows = make(map[string]*row)
		}
		if r = p.spareRow; r == nil {
			r = &row{}
		}
		p.spareRow = nil
		p.rows[key] = r
	}
	return r
}

// inLine is the line of a row, which is made if there is none.
func (p *part) inLine(r *row) *line {
	if r.line == nil {
		if r.line = p.spareLine; r.line == nil {
			r.line = &line{}
		}
		p.spareLine = nil
	}
	return r.line
}

func (p *part) dropLine(r *row) {
	if r.line != nil {
		*r.line = line{}
		p.spareLine, r.line = r.line, nil
	}
}

// tidy removes a row that nobody needs.
func (p *part) tidy(key string, r *row) {
	switch {
	case r.first() != nil:
	case r.hold == nil:
		delete(p.rows, key)
		p.dropLine(r)
		*r = row{}
		p.spareRow = r
	case r.line != nil && r.line.turns+r.line.passed == 0 && r.line.owes == 0:
		p.dropLine(r) // a run of hand-offs is remembered until the name is really released
	}
}

// enter puts w at the end of the line, and at its head if nothing local is in the way. With tryOnly
// it enters only if nobody here can refuse it, and asks Redis at once, beside those who do that already.
func (t *table) enter(w *waiter, tryOnly bool) bool {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	if w.under != "" {
		p.inLine(r).append(w)
		w.place = leading
		return true
	}
	if tryOnly {
		if r.refuses(w) {
			p.tidy(key, r)
			return false
		}
		p.inLine(r).append(w)
		w.place = leading
		return true
	}
	l := p.inLine(r)
	if crowds(w.req.Proto) && l.blocking == 0 && !r.excluded(w.req.Proto, nil) {
		l.append(w)
		w.place = leading
		return true
	}
	w.place, l.calm = queued, false
	l.append(w)
	r.promote()
	if w.place == queued {
		w.notify = make(chan struct{}, 1)
	}
	return true
}

// leave takes w out of the line. It returns the hold if one was granted meanwhile, which then is the
// caller's to pass on; a hand-off that is under way is passed on by the one who releases.
func (t *table) leave(w *waiter) *Hold {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch w.place {
	case granted:
		w.place = gone
		return w.hold
	case offered, deserted:
		w.place = deserted
	default:
		w.place = gone
	}
	r := p.row(key)
	r.remove(w)
	r.promote()
	p.tidy(key, r)
	return nil
}

// remains is what a waiter leaves behind that has left: its id, and until when a registration under it may
// be carried out. It is nothing if the id is not its own to clean up after: a hand-off under it is under way,
// or has made a hold of it, which is released like any other.
func (t *table) remains(w *waiter) (id string, notAfter int64) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place == deserted || w.hold != nil {
		return "", 0
	}
	return w.id, w.entering
}

// desertedBy reports that w left while a hand-off to it was under way.
func (t *table) desertedBy(w *waiter) bool {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.place == deserted
}

// win turns the leading waiter's attempt into a local hold.
func (t *table) win(w *waiter, h *Hold) {
	defer h.delist() // when the part is unlocked
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.remove(w)
	w.place = granted
	if !h.loose {
		r.keep(h)
	}
	r.line.turns, r.line.passed, r.line.silent = 0, 0, nil
	r.promote()
	p.tidy(key, r)
}

// add lists a hold that came without waiting.
func (t *table) add(h *Hold) {
	defer h.delist() // when the part is unlocked
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.keep(h)
}

// drop takes a hold out and lets the next in line ask Redis. If the release ended a run of hand-offs
// and others heard of it, the process owes each of them a turn.
func (t *table) drop(h *Hold, others int) {
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.forget(h)
	if others > 0 && r.line != nil {
		r.line.incur(others, t.engine.clock.Now())
	}
	r.promote()
	p.tidy(key, r)
}

// look returns where w stands.
func (t *table) look(w *waiter) (place, *Hold, error) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place == leading && w.registering {
		return queued, nil, nil // one request at a time: it leads when its place is known
	}
	return w.place, w.hold, w.failed
}
