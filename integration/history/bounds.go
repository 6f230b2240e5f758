package history

import (
	"fmt"
	"slices"
	"time"
)

// Loss is a moment at which the store forgot holds.
type Loss struct {
	Name        string        // whose holds; "" for all
	Of          string        // the client process whose holds; "" for all
	From, Until time.Duration // at some time from one to the other
	Certain     bool          // it did; else it may have done so
	Since       time.Duration // it may know holds that were granted before
	By          string        // the client process that caused it; "" if none did
}

func (l Loss) of(h Hold) bool {
	return (l.Name == "" || l.Name == h.Name) && (l.Of == "" || l.Of == h.process())
}

// certain reports that the store forgot a hold which was granted before.
func (l Loss) certain(h Hold) bool {
	return l.Certain && l.of(h) && h.grantStart >= l.Since && h.grantStart <= l.From
}

// Bounds say what may follow when the store forgets. The zero value is for runs in which it does not.
type Bounds struct {
	Losses  []Loss
	Reply   time.Duration // how long a grant may be on its way to its holder
	Telling time.Duration // how long a holder may still treat a lost hold as live, besides the time that it was stopped
}

// Late describes the holders that treated their hold as live for too long after its loss.
func (b Bounds) Late(holds []Hold) (found []string) {
	for _, h := range granted(holds) {
		for _, l := range b.Losses {
			if l.certain(h) && h.End > l.Until+b.Telling+h.Stalled {
				found = append(found, fmt.Sprintf("%v was lost at %v and its holder told %v later", h, l.Until,
					h.End-l.Until))
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// LongestTelling is how long after a loss a holder treated its hold as live, at most, and how many live holds
// were lost.
func (b Bounds) LongestTelling(holds []Hold) (longest time.Duration, lost int) {
	for _, h := range granted(holds) {
		hit := false
		for _, l := range b.Losses {
			if l.certain(h) && h.End > l.Until {
				hit, longest = true, max(longest, h.End-l.Until)
			}
		}
		if hit {
			lost++
		}
	}
	return longest, lost
}

// excuses reports whether two holds may overlap: one was lost before the other began. The lost hold is that whose Lock
// returned first, or that with the older token, if its grant was longer on its way.
func (b Bounds) excuses(earlier, later Hold) bool {
	if later.grantStart < earlier.grantStart { // a turn of a grant that was lost before the other was made
		earlier, later = later, earlier
	}
	return b.lostBefore(earlier, later) || later.Fence < earlier.Fence && b.lostBefore(later, earlier)
}

// lostBefore reports whether a hold was lost before another one began, perhaps while its grant was on its way, and ends
// in time. A process that breaks a lock ends its own hold first, so there is no excuse for that, unless it learned of
// the hold only then.
func (b Bounds) lostBefore(lost, other Hold) bool {
	return slices.ContainsFunc(b.Losses, func(l Loss) bool {
		return l.of(lost) && lost.grantCalled <= l.Until && lost.grantStart <= l.Until+b.Reply &&
			l.From <= other.Start &&
			(l.By != lost.process() || l.From <= lost.Start) &&
			lost.End <= l.Until+b.Telling+lost.Stalled
	})
}

// mixes reports whether the order of two holds is unknown: one was lost at about the time at which both were
// granted, so the grant of the first may have arrived last. Or it was lost, and is passed on until that is
// discovered.
func (b Bounds) mixes(earlier, later Hold) bool {
	return slices.ContainsFunc(b.Losses, func(l Loss) bool {
		return l.of(later) && l.From <= earlier.Start && later.grantCalled <= l.Until
	})
}
