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

	"github.com/holdfast-go/holdfast/lock"
)

// rows are the situations: turns that are shorter, about as long and much longer than what a run of turns may take, and
// so many of them that everybody should have had several.
var rows = []struct {
	work  time.Duration
	total int
}{
	{5 * time.Millisecond, 200},
	{24 * time.Millisecond, 80},
	{200 * time.Millisecond, 60},
}

// Shared tests how 2 and 4 clients of one goroutine each share a lock: nobody has more than ratio times the turns of
// another one, and nobody waits for more than rounds turns of each of the others. Open makes a client of its own with a
// handle on the lock of that name. The situations run at the same time, since they mostly wait.
func Shared(t *testing.T, ratio, rounds int, open func(t *testing.T, name string) lock.Locker) {
	for _, row := range rows {
		for _, n := range []int{2, 4} {
			t.Run(fmt.Sprintf("%d clients and %v of work", n, row.work), func(t *testing.T) {
				t.Parallel()
				locks := make([]lock.Locker, n)
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

// Shares is what each client had, and how busy the machine was.
type Shares struct {
	Clients []Share
	Turn    time.Duration // the mean of all
	Late    time.Duration // how late the machine woke a goroutine that only slept, at worst
}

// Take has one goroutine for each lock take turns, whose work takes as long as work, until there were total of them.
// All begin at the same time, and the first turns count as well.
func Take(t testing.TB, locks []lock.Locker, work time.Duration, total int) Shares {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	var taken atomic.Int64
	shares := Shares{Clients: make([]Share, len(locks))}
	late := make(chan time.Duration)
	watched, done := context.WithCancel(ctx)
	go func() { late <- lateness(watched) }()
	began := time.Now()
	var clients sync.WaitGroup
	for i, l := range locks {
		clients.Go(func() {
			if err := shares.Clients[i].take(ctx, l, work, &taken, int64(total)); err != nil {
				t.Errorf("client %d: %v", i, err)
				cancel()
			}
		})
	}
	clients.Wait()
	shares.Turn = time.Since(began) / time.Duration(total)
	done()
	shares.Late = <-late
	t.Logf("work of %v: %v", work, shares)
	return shares
}

// lateness is how late a timer is at worst, until ctx ends.
func lateness(ctx context.Context) (worst time.Duration) {
	const step = 2 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		time.Sleep(step)
		worst = max(worst, time.Since(began)-step)
	}
	return worst
}

// take is one client's loop. A client that had too few turns by then is not waited for: the wait that is under way when
// the last turn has been taken counts like the others.
func (s *Share) take(
	ctx context.Context, l lock.Locker, work time.Duration, taken *atomic.Int64, total int64,
) error {
	for taken.Load() < total {
		start, before := time.Now(), taken.Load()
		_, unlock, err := l.Lock(ctx)
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

// steps is how many goroutines have to be woken until a client that waits has its turn: the reader of messages, the
// waiter, and the reader of answers.
const steps = 3

// Equal fails the test if a client had more than ratio times the turns of another one, or waited for more turns than
// rounds of all others. Where the machine wakes a client late, others do not wait for it, and have the turns that fit
// into that time. That may happen in each of the rounds.
func (s Shares) Equal(t testing.TB, ratio, rounds int) {
	t.Helper()
	least := slices.MinFunc(s.Clients, func(a, b Share) int { return a.Turns - b.Turns }).Turns
	most := slices.MaxFunc(s.Clients, func(a, b Share) int { return a.Turns - b.Turns }).Turns
	if most > ratio*least {
		t.Errorf("one client had %d turns and another one %d, which is more than %d times as many: %v",
			most, least, ratio, s)
	}
	others := len(s.Clients) - 1
	allowed := rounds * (others + int(steps*s.Late/s.Turn))
	for i, share := range s.Clients {
		if share.Outsped > allowed {
			t.Errorf("client %d waited while the %d others had %d turns, more than %d: %v",
				i, others, share.Outsped, allowed, s)
		}
	}
}

// String is a line for a log.
func (s Shares) String() string {
	var line strings.Builder
	for i, share := range s.Clients {
		fmt.Fprintf(&line, "[%d: %d turns, waited %v and %d turns of others] ",
			i, share.Turns, share.Waited.Round(time.Millisecond), share.Outsped)
	}
	fmt.Fprintf(&line, "a turn took %v, and the machine was late by %v at worst",
		s.Turn.Round(10*time.Microsecond), s.Late.Round(10*time.Microsecond))
	return line.String()
}
