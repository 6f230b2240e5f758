package failover

import (
	"slices"
	"sync"
	"time"
)

// witness records who treated which lock as held, from when until when. It asks nobody, and has one clock.
type witness struct {
	mu    sync.Mutex // guards stays
	stays map[string][]*stay
}

// stay is the time of one hold, as its holder saw it.
type stay struct {
	from, to time.Time // to is zero while it lasts
}

func newWitness() *witness { return &witness{stays: make(map[string][]*stay)} }

func (w *witness) enter(name string) *stay {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &stay{from: time.Now()}
	w.stays[name] = append(w.stays[name], s)
	return s
}

// leave is called before anything is released.
func (w *witness) leave(s *stay) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.to = time.Now()
}

// entered reports whether anybody got the lock after an instant.
func (w *witness) entered(name string, after time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	stays := w.stays[name]
	return len(stays) > 0 && stays[len(stays)-1].from.After(after)
}

// first returns when one of the names was first locked after an instant.
func (w *witness) first(names []string, after time.Time) (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		for _, s := range w.stays[name] {
			if s.from.After(after) && (first.IsZero() || s.from.Before(first)) {
				first = s.from
			}
		}
	}
	return first
}

// stall is the longest time, from an instant on, for which nobody got a name.
func (w *witness) stall(name string, from, end time.Time) (longest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := from
	for _, s := range w.stays[name] {
		if s.from.After(from) {
			longest = max(longest, s.from.Sub(last))
			last = s.from
		}
	}
	return max(longest, end.Sub(last))
}

// overlap is a time during which two treated one lock as held.
type overlap struct {
	name          string
	first, second time.Time // when each got it
	lasted        time.Duration
}

// overlaps returns all of them. Stays in progress last until end.
func (w *witness) overlaps(end time.Time) (all []overlap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, stays := range w.stays {
		sorted := slices.Clone(stays)
		slices.SortFunc(sorted, func(a, b *stay) int { return a.from.Compare(b.from) })
		for i, a := range sorted {
			for _, b := range sorted[i+1:] {
				to := earlier(a.until(end), b.until(end))
				if !a.until(end).After(b.from) {
					break // they are in the order of entry, and a is a short one, or the last
				}
				all = append(all, overlap{name, a.from, b.from, to.Sub(b.from)})
			}
		}
	}
	return all
}

func (s *stay) until(end time.Time) time.Time {
	if s.to.IsZero() {
		return end
	}
	return s.to
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// count is how often a name was locked.
func (w *witness) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.stays[name])
}
