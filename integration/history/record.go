package history

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// record merges the reports of the client processes. All methods are safe for concurrent use.
type record struct {
	mu      sync.Mutex // guards all below
	holds   []Hold
	calls   []Call
	open    map[turn]open     // begun, and not ended yet
	unlocks map[string]int    // by outcome
	clients map[string]string // the processes, by what the ids of their holds begin with
	bounds  Bounds
	bad     []string

	strict bool                             // losses are reported in time; set before there are any
	export func(from *process, line string) // passes an exported hold on; set before there are any
}

// turn identifies a hold: the turns of one grant share its id, and have a token each; readers share both, and the
// members of a set the id.
type turn struct {
	who, name, id string
	fence         int64
}

func (h Hold) turn() turn { return turn{h.Client, h.Name, h.ID, h.Fence} }

// open is a hold whose end is not known yet.
type open struct {
	Hold
	validUntil time.Duration
	process    *process
}

func newRecord() *record {
	return &record{open: make(map[turn]open), unlocks: make(map[string]int), clients: make(map[string]string)}
}

// take records a line that a client process wrote.
func (r *record) take(p *process, line string) {
	f := parse(line)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch f.word() {
	case lineHold:
		o := open{process: p}
		o.Client, o.Name, o.ID, o.Fence = p.name+"/"+f.word(), f.word(), f.word(), f.number()
		o.Called, o.Start, o.validUntil = f.stamp(), f.stamp(), f.stamp()
		if mode := f.word(); mode != "-" {
			o.Mode = mode
		}
		if from := f.word(); from != "-" {
			o.From = from
		}
		r.open[o.turn()] = o
		r.clients[clientOf(o.ID)] = p.name
	case lineEnd:
		turn := turn{who: p.name + "/" + f.word(), name: f.word(), id: f.word(), fence: f.number()}
		o, known := r.open[turn]
		if !known {
			r.bad = append(r.bad, fmt.Sprintf("%s: the end of a hold that never began: %s", p.name, line))
		}
		delete(r.open, turn)
		o.End, o.Stalled = f.stamp(), f.stamp()
		r.holds = append(r.holds, o.Hold)
	case lineCall:
		r.calls = append(r.calls, Call{
			Client: p.name + "/" + f.word(), Op: f.word(), Outcome: f.word(),
			Called: f.stamp(), Returned: f.stamp(), Why: f.rest(),
		})
	case lineUnlock:
		r.unlocks[f.word()]++
	case lineBreak:
		name, outcome := f.word(), f.word()
		r.lostLocked(Loss{
			Name: name, From: f.stamp(), Until: f.stamp(), Certain: outcome == outcomeOK, By: p.name,
		}, outcome)
	default:
		r.bad = append(r.bad, p.name+": "+line)
	}
	if f.err != nil {
		r.bad = append(r.bad, fmt.Sprintf("%s: %v: %q", p.name, f.err, line))
	}
}

// compare makes sure that a process reads the clock that all share.
func (r *record) compare(p *process, reading time.Duration) {
	const apart = time.Minute // to write a line, and to read it
	if now := stamp.Now(); reading > now || reading < now-apart {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bad = append(r.bad, fmt.Sprintf("%s: its clock says %v, and this one %v", p.name, reading, now))
	}
}

// clientOf is what the ids of all holds of a client begin with.
func clientOf(id string) string {
	client, _, _ := strings.Cut(id, ":")
	return client
}

// process names the process that has had a hold with such an id; "" if none is known.
func (r *record) process(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[clientOf(id)]
}

// lost records that the store forgot something.
func (r *record) lost(l Loss) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lostLocked(l, outcomeOK)
}

func (r *record) lostLocked(l Loss, outcome string) {
	switch outcome {
	case outcomeNotHeld: // so nothing was taken from a holder
		return
	case outcomeUnavailable: // it may be, some time later, but only from the holder of that time
		l.Until += r.bounds.Telling
	}
	r.bounds.Losses = append(r.bounds.Losses, l)
}

// killed ends the holds of a process that was alive at a moment, and then killed. All its output was
// taken before. It had not begun to unlock them, because it reports that first. So its death ended
// them, or the end of the validity that it knew of.
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

// judge returns what is wrong with the record as a whole, or nil.
func (r *record) judge() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.judgeLocked(r.holds); err != nil {
		return err
	}
	if len(r.open) > 0 {
		return fmt.Errorf("%d holds never ended", len(r.open))
	}
	return nil
}

// linearize has another checker judge the holds, and reports of what.
func (r *record) linearize(report *Report) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	report.Linearized, err = r.bounds.Linearize(r.holds)
	return err
}

// glance checks the latest holds, so that a run that has failed already can end. Reports of the last
// seconds may be incomplete, because another process may be stopped.
func (r *record) glance() error {
	const some, settled = 1000, 3 * time.Second
	r.mu.Lock()
	defer r.mu.Unlock()
	latest := slices.Clone(r.holds[max(0, len(r.holds)-some):])
	now := stamp.Now()
	return r.judgeLocked(slices.DeleteFunc(latest, func(h Hold) bool {
		return h.End > now-settled || h.From != "" // an imported hold may have an older token
	}))
}

func (r *record) judgeLocked(holds []Hold) error {
	var late []string
	if r.strict {
		late = r.bounds.Late(holds)
	}
	for _, found := range []struct {
		what  string
		lines []string
	}{
		{"told by the clients", r.bad},
		{"overlaps", r.bounds.Overlaps(holds)},
		{"too many permits", TooMany(holds)},
		{"tokens out of order", r.bounds.Disorder(holds)},
		{"losses told too late", late},
	} {
		if n := len(found.lines); n > 0 {
			return fmt.Errorf("%s: %d\n%s", found.what, n, strings.Join(found.lines[:min(n, 10)], "\n"))
		}
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
