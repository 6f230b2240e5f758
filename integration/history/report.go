package history

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report contains the figures of a run.
type Report struct {
	Config       Config
	Duration     time.Duration
	Acquisitions int            // of the whole run
	Calls        map[string]int // by operation and outcome
	Unlocks      map[string]int // by outcome
	Faults       map[string]int // by kind
	Undelivered  int            // late requests that another fault prevented
	Overlaps     int
	Stale        int           // overlaps with a holder that had lost the lock, within bounds
	Lost         int           // live holds that the store forgot
	Telling      time.Duration // how long after that they were treated as live, at most
	Disorder     int
	Linearized   Linearized
	Holds        []Hold        `json:"-"` // for Export
	Revoked      int           // leases with time left, by a leader that had been replaced
	LongestWait  time.Duration // of a call that went on after the faults had ended
	Waiter       Call          // its call
	LongestLive  time.Duration // of a call in the liveness phase
	Held         int           // what is left of holds
	Goroutines   int           // left in the clients
	Heap         int64         // of a client whose calls have all returned, in bytes, at most
}

// take copies the figures of a record.
func (r *Report) take(of *record) {
	of.mu.Lock()
	defer of.mu.Unlock()
	r.Acquisitions = len(of.holds) + len(of.open)
	r.Overlaps, r.Disorder = len(of.bounds.Overlaps(of.holds)), len(of.bounds.Disorder(of.holds))
	r.Stale = of.bounds.Excused(of.holds)
	r.Holds = slices.Clone(of.holds)
	r.Telling, r.Lost = of.bounds.LongestTelling(of.holds)
	r.Unlocks = maps.Clone(of.unlocks)
	r.Calls = make(map[string]int)
	for _, c := range of.calls {
		r.Calls[c.Op+":"+c.Outcome]++
	}
}

// missing names the kinds of faults that never happened.
func (r *Report) missing() (names []string) {
	for _, k := range r.Config.kinds() {
		if r.Faults[k.name] == 0 {
			names = append(names, k.name)
		}
	}
	return names
}

// Injected is how many faults happened.
func (r *Report) Injected() (n int) {
	for _, of := range r.Faults {
		n += of
	}
	return n
}

// ByRedisson is how many acquisitions were those of clients in Java, until the faults had ended.
func (r *Report) ByRedisson() (n int) {
	for call, of := range r.Calls {
		if strings.HasPrefix(call, "java-") && strings.HasSuffix(call, ":"+outcomeOK) {
			n += of
		}
	}
	return n
}

// Print writes the figures as a table.
func (r *Report) Print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(what string, figure any) { fmt.Fprintf(table, "%s\t%v\n", what, figure) }
	row("site", r.Config.Site)
	row("seed", r.Config.Seed)
	row("duration", r.Duration.Round(time.Millisecond))
	row("acquisitions", r.Acquisitions)
	row("acquisitions by Redisson", r.ByRedisson())
	row("overlaps", r.Overlaps)
	row("tokens out of order", r.Disorder)
	row("operations that Porcupine judged", fmt.Sprintf("%d, of %d names", r.Linearized.Operations, r.Linearized.Names))
	if r.Config.Site == Thawed {
		row("leases that the old leader revoked", r.Revoked)
		row("overlaps that followed from it", r.Stale)
	}
	if r.Config.Forgets {
		row("holds lost before unlock", r.Lost)
		row("longest time from a loss to its report", r.Telling.Round(time.Millisecond))
		row("overlaps that followed from it", r.Stale)
	}
	row("longest wait after heal", r.LongestWait.Round(time.Millisecond))
	row("longest wait in liveness", r.LongestLive.Round(time.Millisecond))
	row("holds left", r.Held)
	row("goroutines left", r.Goroutines)
	row("heap of a client, at most", fmt.Sprintf("%d kB", r.Heap/1000))
	row("faults", r.Injected())
	for _, k := range r.Config.kinds() {
		row("  "+k.name, r.Faults[k.name])
	}
	row("late requests undelivered", r.Undelivered)
	row("calls", counts(r.Calls))
	row("unlocks", counts(r.Unlocks))
	return table.Flush()
}

// Export writes the holds, one to a line, as JSON: moments are nanoseconds from the same beginning. Other checkers can
// judge them.
func (r *Report) Export(to io.Writer) error {
	lines := json.NewEncoder(to)
	for _, h := range r.Holds {
		if err := lines.Encode(h); err != nil {
			return err
		}
	}
	return nil
}

func counts(of map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", name, of[name]))
	}
	return strings.Join(words, ", ")
}
