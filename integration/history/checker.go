package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is one hold as its owner saw it.
type Hold struct {
	Name   string
	ID     string
	Fence  int64
	Client string        // which process, and which of its goroutines
	Start  time.Duration // after Lock had returned
	End    time.Duration // the last moment at which it was certainly believed in
}

// believed tells whether the hold was ever believed in. A process that was stopped between the grant
// and the return of Lock may learn of a hold when it is over.
func (h Hold) believed() bool { return h.End > h.Start }

func (h Hold) String() string {
	return fmt.Sprintf("%s of %s, token %d, believed in from %v to %v (%s)",
		h.Name, h.Client, h.Fence, h.Start, h.End, h.ID)
}

// byName returns the holds of each name in the order of their beginnings.
func byName(holds []Hold) map[string][]Hold {
	names := make(map[string][]Hold)
	for _, h := range holds {
		names[h.Name] = append(names[h.Name], h)
	}
	for _, of := range names {
		slices.SortStableFunc(of, func(a, b Hold) int { return cmp.Compare(a.Start, b.Start) })
	}
	return names
}

// Overlaps sweeps over the believed intervals of every name and describes each one that begins before
// all earlier ones have ended. Touching is no overlap: the moments that are recorded lie inside.
func Overlaps(holds []Hold) (found []string) {
	for _, of := range byName(holds) {
		var latest Hold // of those that were begun, the one that ends last
		for _, h := range of {
			if !h.believed() {
				continue
			}
			if h.Start < latest.End {
				found = append(found, fmt.Sprintf("%v overlaps %v", h, latest))
			}
			if h.End > latest.End {
				latest = h
			}
		}
	}
	slices.Sort(found)
	return found
}

// Disorder describes every hold whose token is not above that of the hold believed in before it, and
// every token and hold id that was used twice, whether anybody believed in them or not.
func Disorder(holds []Hold) (found []string) {
	ids := make(map[string]Hold, len(holds))
	for _, of := range byName(holds) {
		var before Hold
		tokens := make(map[int64]Hold, len(of))
		for _, h := range of {
			if other, taken := ids[h.ID]; taken {
				found = append(found, fmt.Sprintf("%v has the id of %v", h, other))
			}
			if other, taken := tokens[h.Fence]; taken {
				found = append(found, fmt.Sprintf("%v has the token of %v", h, other))
			}
			ids[h.ID], tokens[h.Fence] = h, h
			if !h.believed() {
				continue
			}
			if h.Fence <= before.Fence {
				found = append(found, fmt.Sprintf("%v comes after %v", h, before))
			}
			before = h
		}
	}
	slices.Sort(found)
	return found
}

// Call is one call of Lock or TryLock that has returned.
type Call struct {
	Client           string
	Op               string
	Called, Returned time.Duration
	Outcome          string // "ok", or what the error was
}

// LongestWait returns how long the calls that returned after a moment went on after it, at most.
func LongestWait(calls []Call, after time.Duration) (longest time.Duration, of Call) {
	for _, c := range calls {
		if waited := c.Returned - max(c.Called, after); waited > longest {
			longest, of = waited, c
		}
	}
	return longest, of
}

// Failures describes the calls that began after a moment and did not end well.
func Failures(calls []Call, after time.Duration) (found []string) {
	for _, c := range calls {
		if c.Called >= after && c.Outcome != outcomeOK {
			found = append(found, fmt.Sprintf("%s of %s: %s after %v",
				c.Op, c.Client, c.Outcome, c.Returned-c.Called))
		}
	}
	return found
}

// Leftovers returns the keys that are neither of those that may stay.
func Leftovers(keys []string, mayStay func(string) bool) []string {
	var left []string
	for _, key := range keys {
		if !mayStay(key) {
			left = append(left, key)
		}
	}
	slices.Sort(left)
	return left
}
