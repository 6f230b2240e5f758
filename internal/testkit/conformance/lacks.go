package conformance

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Lacks says what a kind of lock cannot do; the suite skips the cases that need it.
type Lacks uint

const (
	// Reentry: a Lock with the context of a live hold waits like any other.
	Reentry Lacks = 1 << iota
	// Fencing: holds have no tokens of their own (readers, permits).
	Fencing
	// Knowledge: Held returns nothing useful.
	Knowledge
	// Tries: TryLock may be busy although nobody holds the lock (a fair lock whose queue is not empty).
	Tries
	// Options: MinHold, Grace and NonReentrant have no effect, and are not refused.
	Options
	// Exclusion: holds of client 0 do not exclude one another (readers); client 1 excludes all of them.
	Exclusion
	// Moves: Export refuses holds, or the lock has none.
	Moves
	// MinHolds: MinHold is refused.
	MinHolds
	// Sets: package multilock does not take several of them as one.
	Sets
	// Notes: package leader does not tell others who holds the lock.
	Notes
	// Faults: the lab has no path to the store that can fail.
	Faults
	// Listeners: nobody hears what the clients of the lab tell, and nobody knows what they do.
	Listeners
	// Erasure: the lab cannot take away what the store has of a lock.
	Erasure
	// Keeping: Keep and Yields are refused.
	Keeping
	// Waiters: Inspect does not count those who wait in another process.
	Waiters
	// Standing: a hold is renewed by a new connection. If there is no room for two, the client closes the old one
	// first.
	Standing
)

// words are those of [Lacks] in their order.
var words = []string{
	"reentry", "tokens", "Held", "tries", "options", "exclusion", "export", "MinHold", "sets", "notes",
	"faults", "observers", "erasure", "Keep", "waiters of others", "renewal without a new connection",
}

// String returns the words for what is lacking, or "nothing".
func (l Lacks) String() string {
	if said := l.words(); len(said) > 0 {
		return strings.Join(said, ", ")
	}
	return "nothing"
}

func (l Lacks) words() (said []string) {
	for i, word := range words {
		if l&(1<<i) != 0 {
			said = append(said, word)
		}
	}
	return said
}

// Leases are the leases that a store keeps, if not all. Others are refused.
type Leases struct {
	Least time.Duration // the shortest
	Step  time.Duration // of which the others are multiples; 0: any
}

// Fit returns the shortest lease that the store keeps and that is not shorter than d.
func (l Leases) Fit(d time.Duration) time.Duration {
	d = max(d, l.Least)
	if l.Step > 0 && d%l.Step != 0 {
		d += l.Step - d%l.Step
	}
	return d
}

func (l Leases) words() (said []string) {
	if l.Least > 0 {
		said = append(said, fmt.Sprintf("leases below %v", l.Least))
	}
	if l.Step > 0 {
		said = append(said, fmt.Sprintf("leases between multiples of %v", l.Step))
	}
	return said
}

// limits are what the labs of a run lack.
type limits struct {
	mu     sync.Mutex // guards what follows
	lacks  Lacks
	leases Leases
}

func (l *limits) add(lab Lab) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lacks |= lab.Lacks
	l.leases = lab.Leases
}

// tell logs them, once for all cases.
func (l *limits) tell(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	said := append(l.lacks.words(), l.leases.words()...)
	if len(said) == 0 {
		said = []string{l.lacks.String()}
	}
	t.Logf("lacks: %s", strings.Join(said, ", "))
}
