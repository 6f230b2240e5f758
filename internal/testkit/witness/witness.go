// Package witness judges what holders of locks recorded: of a lock that excludes, no two holds are live at the same
// time, and tokens grow.
//
// A holder takes the time when it has got the lock, and again before it ends its hold. Both moments lie inside, so two
// holds that touch overlap. Holders in several processes need a clock that they share, as that of package stamp.
package witness

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is one hold as its holder saw it.
type Hold struct {
	Name     string // of the lock
	Who      string
	From, To time.Duration
	Fence    int64
}

// Witnessed returns the hold.
func (h Hold) Witnessed() Hold { return h }

// A Witnessed is a hold and whatever else is known of it: a type that embeds [Hold] is one.
type Witnessed interface{ Witnessed() Hold }

// Pair is two holds of one lock, in the order in which they began.
type Pair[H Witnessed] struct{ Earlier, Later H }

func (p Pair[H]) String() string { return fmt.Sprintf("%+v, then %+v", p.Earlier, p.Later) }

// Judge returns an error if holds overlap or tokens do not grow, which names the first two.
func Judge[H Witnessed](holds []H) error {
	if pairs := Overlaps(holds); len(pairs) > 0 {
		return fmt.Errorf("%d overlaps: %v", len(pairs), pairs[0])
	}
	if pairs := Disorder(holds); len(pairs) > 0 {
		return fmt.Errorf("%d tokens out of order: %v", len(pairs), pairs[0])
	}
	return nil
}

// Overlaps returns every two holds of one name that were live at the same time.
func Overlaps[H Witnessed](holds []H) (pairs []Pair[H]) {
	for _, of := range byName(holds) {
		var open []H // begun, and not ended by what comes next
		for _, h := range of {
			from := h.Witnessed().From
			open = slices.DeleteFunc(open, func(o H) bool { return o.Witnessed().To < from })
			for _, o := range open {
				pairs = append(pairs, Pair[H]{o, h})
			}
			open = append(open, h)
		}
	}
	return pairs
}

// Disorder returns every hold whose token is not above all those of holds of its name that had ended when it began,
// together with the highest of them.
func Disorder[H Witnessed](holds []H) (pairs []Pair[H]) {
	for _, of := range byName(holds) {
		ended := slices.Clone(of)
		slices.SortStableFunc(ended, func(a, b H) int { return cmp.Compare(a.Witnessed().To, b.Witnessed().To) })
		next, highest := 0, 0
		for _, h := range of {
			for next < len(ended) && ended[next].Witnessed().To < h.Witnessed().From {
				if ended[next].Witnessed().Fence > ended[highest].Witnessed().Fence {
					highest = next
				}
				next++
			}
			if next > 0 && h.Witnessed().Fence <= ended[highest].Witnessed().Fence {
				pairs = append(pairs, Pair[H]{ended[highest], h})
			}
		}
	}
	return pairs
}

// byName returns the holds of each name in the order of their beginnings. One whose end is before its beginning was
// never live: its holder was stopped when it got the lock.
func byName[H Witnessed](holds []H) map[string][]H {
	names := make(map[string][]H)
	for _, h := range holds {
		if w := h.Witnessed(); w.To >= w.From {
			names[w.Name] = append(names[w.Name], h)
		}
	}
	for _, of := range names {
		slices.SortStableFunc(of, func(a, b H) int { return cmp.Compare(a.Witnessed().From, b.Witnessed().From) })
	}
	return names
}
