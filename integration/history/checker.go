package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

// Hold is one hold as its owner saw it.
type Hold struct {
	Name   string
	ID     string
	Mode   string        // modeRead, modePermit; "": it excludes all others
	Fence  int64         // noToken: Redisson gives it none
	Client string        // which process, and which of its goroutines
	Called time.Duration // when Lock was
	Start  time.Duration // after Lock had returned
	End    time.Duration // the last moment at which it was certainly live

	From    string        // the id of the exported hold that it continues; "" if none
	Stalled time.Duration // how long its goroutine was stopped meanwhile, in all

	// Of the first turn of its grant: a lock that is passed on inside a process is one hold for the store, which
	// is not asked whether it still exists. Set by granted.
	grantCalled, grantStart time.Duration
}

// The modes of a hold that does not exclude all others.
const (
	modeRead   = "read"   // excludes those who write
	modePermit = "permit" // mostPermits of them exclude all others
)

// noToken is the fence of Redisson's readers and writers.
const noToken = -1

// excludes reports whether two holds of one name must not be live at the same time. Permits are counted by TooMany.
func (h Hold) excludes(other Hold) bool {
	return h.Mode != modePermit && (h.Mode != modeRead || other.Mode != modeRead)
}

// granted sets the beginning of each hold's grant, which is that of the first hold of the name with its id.
func granted(holds []Hold) []Hold {
	type grant struct{ name, id string }
	first := make(map[grant]Hold, len(holds))
	for _, h := range holds {
		if f, known := first[grant{h.Name, h.ID}]; !known || h.Start < f.Start {
			first[grant{h.Name, h.ID}] = h
		}
	}
	holds = slices.Clone(holds)
	for i := range holds {
		f := first[grant{holds[i].Name, holds[i].ID}]
		holds[i].grantCalled, holds[i].grantStart = f.Called, f.Start
	}
	return holds
}

func (h Hold) process() string {
	name, _, _ := strings.Cut(h.Client, "/")
	return name
}

// everLive reports whether the hold was ever treated as live. A process that was stopped between the grant and
// the return of Lock may learn of a hold when it has ended.
func (h Hold) everLive() bool { return h.End > h.Start }

func (h Hold) String() string {
	return fmt.Sprintf("%s of %s, token %d, held from %v to %v (%s)",
		h.Name, h.Client, h.Fence, h.Start, h.End, h.ID)
}

// byName returns the holds of each name in the order of their beginnings.
func byName(holds []Hold) map[string][]Hold {
	names := make(map[string][]Hold)
	for _, h := range granted(holds) {
		names[h.Name] = append(names[h.Name], h)
	}
	for _, of := range names {
		slices.SortStableFunc(of, func(a, b Hold) int { return cmp.Compare(a.Start, b.Start) })
	}
	return names
}

// Witnessed returns what a witness of any lock needs to know of the hold.
func (h Hold) Witnessed() witness.Hold {
	return witness.Hold{Name: h.Name, Who: h.Client, From: h.Start, To: h.End, Fence: h.Fence}
}

// Overlaps describes every two holds that were live at the same time, unless that is within bounds. Touching is no
// overlap, because a hold may have ended with its validity.
func (b Bounds) Overlaps(holds []Hold) (found []string) {
	for _, p := range overlaps(holds) {
		if !b.excuses(p.Earlier, p.Later) {
			found = append(found, fmt.Sprintf("%v overlaps %v", p.Later, p.Earlier))
		}
	}
	slices.Sort(found)
	return found
}

// Excused is how many overlaps are within bounds: how often a holder was inside that had lost the lock.
func (b Bounds) Excused(holds []Hold) (n int) {
	for _, p := range overlaps(holds) {
		if b.excuses(p.Earlier, p.Later) {
			n++
		}
	}
	return n
}

func overlaps(holds []Hold) []witness.Pair[Hold] {
	live := slices.DeleteFunc(granted(holds), func(h Hold) bool {
		return !h.everLive() || h.Mode == modePermit
	})
	return slices.DeleteFunc(witness.Overlaps(live), func(p witness.Pair[Hold]) bool {
		return p.Earlier.End == p.Later.Start || !p.Earlier.excludes(p.Later)
	})
}

// TooMany describes every permit that was live while as many others were as there are.
func TooMany(holds []Hold) (found []string) {
	permits := slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool {
		return !h.everLive() || h.Mode != modePermit
	})
	for _, of := range byName(permits) {
		var live []Hold
		for _, h := range of {
			live = append(slices.DeleteFunc(live, func(o Hold) bool { return o.End <= h.Start }), h)
			if len(live) > mostPermits {
				found = append(found, fmt.Sprintf("%d permits are live at once, where there are %d: %v", len(live),
					mostPermits, live))
			}
		}
	}
	return found
}

// Disorder describes every hold whose token is not above that of the live hold before it, every token that was
// used twice, and every hold id that two processes had, whether it was live or not. An exported hold continues
// under another id, once, with its token. Readers share a token, which is not below that of the writer before them
// and below that of the next one. Permits have none, and neither have readers and writers of Redisson's.
func (b Bounds) Disorder(holds []Hold) (found []string) {
	ids := make(map[string]Hold, len(holds))
	for _, of := range byName(holds) {
		var before Hold
		tokens := make(map[int64]Hold, len(of))
		for _, h := range of {
			if other, taken := ids[h.ID]; taken && other.process() != h.process() {
				found = append(found, fmt.Sprintf("%v has the id of %v", h, other))
			}
			ids[h.ID] = h
			if h.Mode == modePermit || h.Fence == noToken {
				continue
			}
			other, taken := tokens[h.Fence]
			imported := h.From != ""
			switch {
			case imported && (!taken || other.ID != h.From):
				found = append(found, fmt.Sprintf("%v was imported from %s, whose token is another", h, h.From))
			case taken && !imported && h.Mode != modeRead:
				found = append(found, fmt.Sprintf("%v has the token of %v", h, other))
			}
			tokens[h.Fence] = h
			if !h.everLive() {
				continue
			}
			moved := imported && before.ID == h.From
			shares := h.Mode == modeRead && h.Fence == before.Fence
			if h.Fence <= before.Fence && !moved && !shares && !b.mixes(before, h) {
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
	Outcome          string // "ok", or the error in a word
	Why              string // the error, where the word leaves open what it was; or ""
}

// LongestWait returns how long calls that returned after a moment went on after it, at most.
func LongestWait(calls []Call, after time.Duration) (longest time.Duration, of Call) {
	for _, c := range calls {
		if waited := c.Returned - max(c.Called, after); waited > longest {
			longest, of = waited, c
		}
	}
	return longest, of
}

// Failures describes the calls that began after a moment and failed.
func Failures(calls []Call, after time.Duration) (found []string) {
	for _, c := range calls {
		if c.Called >= after && c.Outcome != outcomeOK {
			found = append(found, fmt.Sprintf("%s of %s, %v into the phase: %s after %v: %s",
				c.Op, c.Client, c.Called-after, c.Outcome, c.Returned-c.Called, c.Why))
		}
	}
	return found
}

// Leftovers returns the keys that must not stay.
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
