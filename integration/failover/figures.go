package failover

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Figures are what a failover cost the users of a library.
type Figures struct {
	Library string
	Kind    Kind
	Lease   time.Duration

	Serves time.Duration // from the fault until the replica accepted writes

	// Holds that were lost, and how many of those were valid for two seconds or more after the replica served.
	Lost, LostInTime int
	// Told is what the holders of the latter were told.
	Told []string
	// Turns is how often the contended names were locked.
	Turns int

	// From the moment at which the replica served: the first new lock of a client with waiters, and the slowest first
	// one of the clients without.
	FirstWaiters, FirstOthers time.Duration

	// How long nobody got a contended name, from that moment on.
	StallMedian, StallLongest time.Duration
	Stalled                   int // names that nobody got for over two seconds

	// Overlaps of two holds of one lock; how many of them were not explained by a write that Redis lost; and the
	// duration of the longest.
	Overlaps, Unexplained int
	OverlapLongest        time.Duration

	Late    time.Duration // how late the machine woke a sleeper meanwhile, at worst
	Deposed int64         // script calls, of all libraries, that the old primary answered after the replica served
}

// RenewalPeriod is the time within which a holder must learn of a loss: until the next renewal, plus the time that
// the renewal takes.
func RenewalPeriod(lease time.Duration) time.Duration { return lease/3 + min(lease/6, 3*time.Second) }

func (f *Figures) stalls(each []time.Duration) {
	slices.Sort(each)
	f.StallMedian, f.StallLongest = each[len(each)/2], each[len(each)-1]
	for _, stall := range each {
		if stall > 2*time.Second {
			f.Stalled++
		}
	}
}

// Table writes figures as Markdown.
func Table(w io.Writer, all []Figures) error {
	var b strings.Builder
	b.WriteString("| fault | lease | the replica served after | library | holds lost, of 100 (though it served 2 s " +
		"before their end) | first new lock: with waiters, without | names stalled > 2 s, of 50: longest | " +
		"overlaps, not explained: longest | machine late by |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d (%d) | %s, %s | %d: %s | %d, %d: %s | %s |\n",
			f.Kind, f.Lease, seconds(f.Serves), f.Library, f.Lost, f.LostInTime, seconds(f.FirstWaiters),
			seconds(f.FirstOthers), f.Stalled, seconds(f.StallLongest), f.Overlaps, f.Unexplained,
			seconds(f.OverlapLongest), seconds(f.Late))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
