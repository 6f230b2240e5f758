package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// visit is one hold as its holder saw it. To is the last moment at which it saw that it was told of no loss.
type visit struct {
	witness.Hold
	Told    time.Duration // when it was told of a loss; 0: it was not
	Stopped time.Duration // how long it was stopped meanwhile
	Resumed time.Duration // the end of the last stop
	Staying bool
	Over    bool // it has left, or was killed
	Refused bool // the release returned an error
}

// record is what the processes of a cell told. It asks no library and no server.
type record struct {
	mu      sync.Mutex // guards all below
	visits  []*visit
	calls   map[string]time.Duration // by process: its call that has not returned
	first   map[string]time.Duration // by process: when it made its first call
	current map[string]*visit        // by process: its latest visit
	waits   []wait
	paused  map[string]bool
	began   time.Duration
}

// wait is a call that has returned.
type wait struct{ called, returned time.Duration }

func newRecord() *record {
	return &record{
		calls: make(map[string]time.Duration), first: make(map[string]time.Duration),
		current: make(map[string]*visit), paused: make(map[string]bool), began: stamp.Now(),
	}
}

// listen records what a process tells, until it is gone.
func (r *record) listen(who string, p *role.Process, failed func(error)) {
	const forever = 24 * time.Hour
	for {
		line, err := p.Next(forever)
		if err != nil {
			return
		}
		if err := r.take(who, line); err != nil {
			failed(err)
		}
	}
}

func (r *record) take(who, line string) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return errors.New(who + " told an empty line")
	}
	figures := make([]time.Duration, 4)
	for i, word := range words[1:] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil || i >= len(figures) {
			return errors.New(who + " told: " + line)
		}
		figures[i] = time.Duration(n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch words[0] {
	case lineClock:
		if now := stamp.Now(); figures[0] < r.began || figures[0] > now {
			return fmt.Errorf("%s has a clock of its own: %d is not between %d and %d", who, figures[0], r.began, now)
		}
	case lineCall:
		r.calls[who] = figures[0]
		if _, known := r.first[who]; !known {
			r.first[who] = figures[0]
		}
	case lineIn:
		r.returned(who, figures[1])
		v := &visit{Hold: witness.Hold{Name: lockName, Who: who, From: figures[1], Fence: int64(figures[2])}}
		v.Staying = figures[3] == 1
		r.visits, r.current[who] = append(r.visits, v), v
	case lineOut:
		v := r.current[who]
		v.To, v.Told, v.Stopped, v.Resumed, v.Over = figures[0], figures[1], figures[2], figures[3], true
	case lineLeft:
		r.current[who].Refused = figures[1] == 1
	case lineFailed:
		r.returned(who, figures[0])
	case linePaused:
		r.paused[who] = true
	default:
		return errors.New(who + " told: " + line)
	}
	return nil
}

// returned ends a call. The mutex is held.
func (r *record) returned(who string, at time.Duration) {
	if called, known := r.calls[who]; known {
		r.waits = append(r.waits, wait{called, at})
		delete(r.calls, who)
	}
}

// killed ends what a process did that was alive at a moment, and then killed. All its output was taken.
func (r *record) killed(who string, alive time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, who)
	if v := r.current[who]; v != nil && !v.Over {
		v.To, v.Over = max(v.From, alive), true
	}
}

// acquisitions counts the visits.
func (r *record) acquisitions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.visits)
}

// staying returns the visit of a process that stays inside, if it does.
func (r *record) staying(who string) *visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.current[who]; v != nil && v.Staying && !v.Over {
		return v
	}
	return nil
}

// over reports whether a visit has ended.
func (r *record) over(v *visit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return v.Over
}

// since reports whether anybody got the lock after a moment.
func (r *record) since(at time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.visits) > 0 && slices.ContainsFunc(r.visits, func(v *visit) bool { return v.From > at })
}

// firstCall is when a process first asked for the lock.
func (r *record) firstCall(who string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first[who]
}

// ended returns the visits that have ended, in the order of their beginnings.
func (r *record) ended() []visit {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []visit
	for _, v := range r.visits {
		if v.Over {
			all = append(all, *v)
		}
	}
	slices.SortFunc(all, func(a, b visit) int { return cmp.Compare(a.From, b.From) })
	return all
}

// longestWait is how long a call went on after a moment, at most, and how many have not returned by now.
func (r *record) longestWait(after time.Duration) (longest time.Duration, stuck int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waits {
		longest = max(longest, w.returned-max(w.called, after))
	}
	return longest, len(r.calls)
}

// overlap is a holder that was told of no loss while another one had got the lock.
type overlap struct {
	earlier, later visit
	// beyond is how long the earlier one went on, after the later one had the lock. Time in which it was stopped does
	// not count.
	beyond time.Duration
}

// overlaps returns each visit during which another process got the lock, with the first that did.
func overlaps(visits []visit) (found []overlap) {
	for i, a := range visits {
		for _, b := range visits[i+1:] {
			if b.From > a.To {
				break
			}
			if b.To < b.From {
				continue // it was told of the loss before it did anything
			}
			found = append(found, overlap{a, b, a.To - max(b.From, min(a.Resumed, a.To))})
			break
		}
	}
	return found
}

// unheld is the longest time after a moment in which nobody was inside, up to the next one who was, and how often such
// a time was longer than allowed. Time in which nobody asked does not count.
func unheld(visits []visit, after, allowed time.Duration, idle interval) (longest time.Duration, often int) {
	var end time.Duration
	for _, v := range visits {
		from := max(end, after)
		gap := v.From - from - max(0, min(v.From, idle.to)-max(from, idle.from))
		if end > 0 && gap > 0 {
			longest = max(longest, gap)
			if gap > allowed {
				often++
			}
		}
		end = max(end, v.To)
	}
	return longest, often
}

type interval struct{ from, to time.Duration }
