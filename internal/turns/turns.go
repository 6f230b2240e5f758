// Package turns is the witness of how clients share a lock. It drives several handles of one name, each with one
// goroutine that locks, works, unlocks and locks again at once, as a pod with one worker does. It counts how many
// turns each of them had, and how many turns of others each wait lasted. Counts do not depend on how fast the machine
// is: where the mean turn takes the work and a hand-over, a wait of n turns of others took n times that.
package turns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/rlock"
)

// rows are the situations: turns that are shorter, about as long and much longer than what a run of turns may take, and
// so many of them that everybody should have had several.
var rows = []struct {
	work  time.Duration
	total int
}{
	{5 * time.Millisecond, 200},
	{24 * time.Millisecond, 80},
	{200 * time.Millisecond, 24},
}

// Shared tests how 2 and 4 clients of one goroutine each share a lock: nobody has more than ratio times the turns of
// another one, and nobody waits for more than rounds turns of each of the others. Open makes a client of its own with a
// handle on the lock of that name. The situations run at the same time, since they mostly wait.
func Shared(t *testing.T, ratio, rounds int, open func(t *testing.T, name string) rlock.Locker) {
	for _, row := range rows {
		for _, n := range []int{2, 4} {
			t.Run(fmt.Sprintf("%d clients and %v of work", n, row.work), func(t *testing.T) {
				t.Parallel()
				locks := make([]rlock.Locker, n)
				for i := range locks {
					locks[i] = open(t, t.Name())
				}
				Take(t, locks, row.work, row.total).Equal(t, ratio, rounds)
			})
		}
	}
}

// limit bounds a run. Nothing is measured against it.
const limit = 2 * time.Minute

// Share is what one client had.
type Share struct {
	Turns   int
	Waited  time.Duration // its longest wait, the one under way at the end included
	Outsped int           // the most turns that others had during one wait
}

// Shares is what each client had.
type Shares []Share

// Take has one goroutine for each lock take turns, whose work takes as long as work, until there were total of them.
// All begin at the same time, and the first turns count as well.
func Take(t testing.TB, locks []rlock.Locker, work time.Duration, total int) Shares {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var taken atomic.Int64
	shares := make(Shares, len(locks))
	var clients sync.WaitGroup
	for i, lock := range locks {
		clients.Go(func() {
			if err := shares[i].take(ctx, lock, work, &taken, int64(total)); err != nil {
				t.Errorf("client %d: %v", i, err)
				cancel()
			}
		})
	}
	clients.Wait()
	t.Logf("work of %v: %v", work, shares)
	return shares
}

// take is one client's loop. A client that had too few turns by then is not waited for: the wait that is under way when
// the last turn has been taken counts like the others.
func (s *Share) take(
	ctx context.Context, lock rlock.Locker, work time.Duration, taken *atomic.Int64, total int64,
) error {
	for taken.Load() < total {
		start, before := time.Now(), taken.Load()
		_, unlock, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		s.Waited, s.Outsped = max(s.Waited, time.Since(start)), max(s.Outsped, int(taken.Load()-before))
		if taken.Add(1) <= total {
			s.Turns++
		}
		time.Sleep(work)
		if err := unlock(); err != nil {
			return err
		}
	}
	return nil
}

// Equal fails the test if a client had more than ratio times the turns of another one, or waited for more turns than
// rounds of all others.
func (s Shares) Equal(t testing.TB, ratio, rounds int) {
	t.Helper()
	least := slices.MinFunc(s, func(a, b Share) int { return a.Turns - b.Turns }).Turns
	most := slices.MaxFunc(s, func(a, b Share) int { return a.Turns - b.Turns }).Turns
	if most > ratio*least {
		t.Errorf("one client had %d turns and another one %d, which is more than %d times as many: %v",
			most, least, ratio, s)
	}
	for i, share := range s {
		if share.Outsped > rounds*(len(s)-1) {
			t.Errorf("client %d waited while the %d others had %d turns, more than %d of each: %v",
				i, len(s)-1, share.Outsped, rounds, s)
		}
	}
}

// String is a line for a log.
func (s Shares) String() string {
	var line strings.Builder
	for i, share := range s {
		fmt.Fprintf(&line, "[%d: %d turns, waited %v and %d turns of others] ",
			i, share.Turns, share.Waited.Round(time.Millisecond), share.Outsped)
	}
	return strings.TrimSuffix(line.String(), " ")
}
