package engine

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

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
}

// row is one name. It exists while somebody holds or waits. What only matters while somebody waits is
// kept apart, since most names that are held are not waited for.
type row struct {
	hold *Hold    // the eldest that lives
	more *[]*Hold // the others, of a kind of which several can be held
	line *line
}

// line is those who wait for a name, in order of arrival.
type line struct {
	first, last *waiter

	turns int           // hand-offs since the name was last taken through Redis
	since time.Duration // when the first of them was
	out   time.Duration // until then the process leaves the name to others
	owes  int           // releases of others that it lets pass, having had a run

	silent error         // why Redis does not answer whoever leads; nil while it does
	heard  time.Duration // when it last did, as far as that matters: while silent is set
}

// place is where a waiter stands.
type place int

const (
	queued  place = iota // behind somebody
	leading              // it may ask Redis
	offered              // a hand-off to it is under way
	granted              // the hold is its
	gone                 // it left
)

// waiter is one Lock call that did not get its hold yet. Its fields below the line are guarded by the
// part of the table that its name is in.
type waiter struct {
	req    Request
	since  time.Duration
	notify chan struct{} // its place changed; capacity 1

	id         string
	place      place
	hold       *Hold
	failed     error // the hand-off to it failed for good
	next, prev *waiter
	listed     bool

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
		r = &row{}
		p.rows[key] = r
	}
	return r
}

// tidy removes a row that nobody needs.
func (p *part) tidy(key string, r *row) {
	switch {
	case r.first() != nil:
	case r.hold == nil:
		delete(p.rows, key)
	case r.line != nil && r.line.turns == 0 && r.line.owes == 0:
		r.line = nil // a run of hand-offs is remembered until the name is really released
	}
}

// enter puts w at the end of the line, and at its head if nothing local is in the way. With tryOnly
// it enters only if it would lead at once.
func (t *table) enter(w *waiter, tryOnly bool) bool {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	if tryOnly && !r.free(w, nil) {
		p.tidy(key, r)
		return false
	}
	w.place = queued
	r.append(w)
	r.promote()
	return true
}

// leave takes w out of the line. It returns the hold if one was granted meanwhile, which then is the
// caller's to pass on; a hand-off that is under way is passed on by the one who releases.
func (t *table) leave(w *waiter) *Hold {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.place == granted {
		w.place = gone
		return w.hold
	}
	w.place = gone
	r := p.row(key)
	r.remove(w)
	r.promote()
	p.tidy(key, r)
	return nil
}

// win turns the leading waiter's attempt into a local hold.
func (t *table) win(w *waiter, h *Hold) {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.remove(w)
	w.place = granted
	r.keep(h)
	r.line.turns = 0
	r.promote()
	p.tidy(key, r)
}

// add lists a hold that came without waiting.
func (t *table) add(h *Hold) {
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.keep(h)
}

// drop takes a hold out and lets the next in line ask Redis. If the release ended a run of hand-offs
// and others heard of it, the process first stays out for a while, and owes each of them a turn.
func (t *table) drop(h *Hold, others int) {
	key := h.proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(key)
	r.forget(h)
	if others > 0 && r.line != nil {
		r.line.out, r.line.owes = t.engine.clock.Now()+runPause, min(others, maxOwed)
	}
	r.promote()
	p.tidy(key, r)
}

// look returns where w stands.
func (t *table) look(w *waiter) (place, *Hold, error) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	return w.place, w.hold, w.failed
}

// outUntil is the instant until which the process leaves the name to others.
func (t *table) outUntil(key string) time.Duration {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.row(key).inLine().out
}

// answered notes whether Redis answers the leader of a name. It returns since when it does not, so that
// those who come to lead one after the other share one patience.
func (t *table) answered(w *waiter, err error) time.Duration {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.row(w.req.Proto.Key()).inLine()
	if at.silent == nil && err != nil {
		at.heard = t.engine.clock.Now()
	}
	at.silent = err
	return at.heard
}

// trouble is why Redis does not answer, for a waiter that no local hold is in the way of.
func (t *table) trouble(w *waiter) error {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(w.req.Proto.Key())
	for h := range r.holds() {
		if w.req.Proto.Excludes(h.proto.Mode()) {
			return nil
		}
	}
	return r.inLine().silent
}

// owes reports whether the process is to let a release of others pass, which it then has done.
func (t *table) owes(w *waiter) bool {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.row(w.req.Proto.Key()).inLine()
	if at.owes == 0 {
		return false
	}
	at.owes--
	return true
}

// waiting counts the line of a name, and finds a local hold by its id.
func (t *table) waiting(key, id string) (waiters int, h *Hold) {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[key]
	if r == nil {
		return 0, nil
	}
	for w := r.first(); w != nil; w = w.next {
		waiters++
	}
	for held := range r.holds() {
		if held.id == id {
			h = held
		}
	}
	return waiters, h
}

// eldest is the hold that is in the way of a name's line the longest.
func (t *table) eldest(key string) *Hold {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.rows[key]; r != nil {
		return r.hold
	}
	return nil
}

// all returns every hold there is.
func (t *table) all() []*Hold {
	var holds []*Hold
	for i := range t.parts {
		p := &t.parts[i]
		p.mu.Lock()
		for _, r := range p.rows {
			holds = slices.AppendSeq(holds, r.holds())
		}
		p.mu.Unlock()
	}
	return holds
}
