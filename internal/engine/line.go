package engine

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/wake"
)

// outUntil is the instant until which the process leaves the name to others.
func (t *table) outUntil(key string) time.Duration {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inLine(p.row(key)).out
}

// answered notes whether Redis answers the leader of a name. It returns since when it does not, so that
// those who come to lead one after the other share one patience.
func (t *table) answered(w *waiter, err error) time.Duration {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.inLine(p.row(w.req.Proto.Key()))
	if at.silent == nil && err != nil {
		at.spoke = t.engine.clock.Now()
	}
	at.silent = err
	return at.spoke
}

// toldBusy notes that Redis answered w that another has the lock.
func (t *table) toldBusy(w *waiter) {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.inLine(p.row(w.req.Proto.Key()))
	at.refuse(w)
	at.silent = nil
}

// refuse notes that w was told to wait. One of several that may ask at a time is in the way of those behind it
// from then on.
func (l *line) refuse(w *waiter) {
	if w.listed && !w.blocks() {
		l.blocking++
	}
	w.refused = true
}

// keepTurn notes that the first in line stood behind h, whose release Redis has just confirmed: a try that
// comes before it has asked must not overtake it.
func (t *table) keepTurn(h *Hold) {
	p := t.part(h.proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[h.proto.Key()]
	if r == nil {
		return
	}
	if w := r.first(); w != nil && w.req.Proto.Excludes(h.proto.Mode()) {
		r.line.refuse(w)
	}
}

// trouble is why Redis does not answer, for a waiter that no local hold is in the way of.
func (t *table) trouble(w *waiter) error {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.row(w.req.Proto.Key())
	if r.excluded(w.req.Proto, nil) {
		return nil
	}
	return p.inLine(r).silent
}

// ends notes what was heard of a name before the release is sent that ends a run of its hand-offs. Read
// afterwards, the count could have the release's own message in it or not.
func (t *table) ends(h *Hold, heard wake.Count) {
	p := t.part(h.proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.inLine(p.row(h.proto.Key()))
	if at.reckon(heard) {
		at.owes = 0 // somebody's release was on its way as this run began: nobody was waited for in vain
	}
	at.others = 0
}

// owes reports whether the process is still to let releases of others pass.
func (t *table) owes(w *waiter, heard wake.Count) bool {
	p := t.part(w.req.Proto.Key())
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.inLine(p.row(w.req.Proto.Key()))
	at.reckon(heard)
	return at.owes > 0
}

// waiting are those of a mode who stand in a name's line.
func (t *table) waiting(key, mode string) (line []Queued) {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[key]
	if r == nil {
		return nil
	}
	for w := r.first(); w != nil; w = w.next {
		if w.req.Proto.Mode() == mode {
			line = append(line, Queued{ID: w.id, Since: t.engine.clock.Wall(w.since), Mine: true})
		}
	}
	return line
}

// find finds a local hold by its id.
func (t *table) find(key, id string) *Hold {
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rows[key]
	if r == nil {
		return nil
	}
	return r.find(t.engine.numberOf(id))
}

// obstacle is a hold of this process that was in w's way for all of its wait, if that was not asked of the
// hold before: nil otherwise. A waiter that waits for itself stands behind one that is older than its call.
func (t *table) obstacle(w *waiter) *Hold {
	key := w.req.Proto.Key()
	p := t.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.rows[key]; r != nil {
		for h := range r.holds() {
			if h.start <= w.since && w.req.Proto.Excludes(h.proto.Mode()) && !h.waitedFor {
				h.waitedFor = true
				return h
			}
		}
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
