package history

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// record is what the client processes tell, put together. All methods are safe for concurrent use.
type record struct {
	mu      sync.Mutex // guards all below
	holds   []Hold
	calls   []Call
	open    map[string]open // by hold id: begun, and not ended yet
	unlocks map[string]int  // by outcome
	bad     []string
}

// open is a hold whose end is not known yet.
type open struct {
	Hold
	validUntil time.Duration
	process    *process
}

func newRecord() *record {
	return &record{open: make(map[string]open), unlocks: make(map[string]int)}
}

// take notes down a line that a client process wrote.
func (r *record) take(p *process, line string) {
	f := parse(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch f.word() {
	case lineHold:
		o := open{process: p}
		o.Client, o.Name, o.ID, o.Fence = p.name+"/"+f.word(), f.word(), f.word(), f.number()
		o.Start, o.validUntil = f.stamp(), f.stamp()
		r.open[o.ID] = o
	case lineEnd:
		id := f.word()
		o, known := r.open[id]
		if !known {
			r.bad = append(r.bad, fmt.Sprintf("%s: the end of a hold that never began: %s", p.name, line))
		}
		delete(r.open, id)
		o.End = f.stamp()
		r.holds = append(r.holds, o.Hold)
	case lineCall:
		r.calls = append(r.calls, Call{
			Client: p.name + "/" + f.word(), Op: f.word(), Outcome: f.word(),
			Called: f.stamp(), Returned: f.stamp(),
		})
	case lineUnlock:
		r.unlocks[f.word()]++
	default:
		r.bad = append(r.bad, p.name+": "+line)
	}
	if f.err != nil {
		r.bad = append(r.bad, fmt.Sprintf("%s: %v: %q", p.name, f.err, line))
	}
}

// killed ends the holds of a process that was alive at a moment, and then killed. All that it wrote was
// taken before. It had not begun to unlock them, since it tells that first, and its death is what ended
// its belief, or the validity that it knew of.
func (r *record) killed(p *process, alive time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, o := range r.open {
		if o.process == p {
			delete(r.open, id)
			o.End = min(o.validUntil, alive)
			r.holds = append(r.holds, o.Hold)
		}
	}
}

// acquisitions returns how many holds were begun.
func (r *record) acquisitions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.holds) + len(r.open)
}

// verdict is what is wrong with the record as a whole, nil if nothing is.
func (r *record) verdict() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, found := range []struct {
		what  string
		lines []string
	}{
		{"told by the clients", r.bad},
		{"overlaps", Overlaps(r.holds)},
		{"tokens out of order", Disorder(r.holds)},
	} {
		if n := len(found.lines); n > 0 {
			return fmt.Errorf("%s: %d\n%s", found.what, n, strings.Join(found.lines[:min(n, 10)], "\n"))
		}
	}
	if len(r.open) > 0 {
		return fmt.Errorf("%d holds never ended", len(r.open))
	}
	return nil
}

// returned returns a copy of the calls so far.
func (r *record) returned() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// count returns how many unlocks had one of these outcomes.
func (r *record) count(outcomes ...string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range outcomes {
		n += r.unlocks[o]
	}
	return n
}
