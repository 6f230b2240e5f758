package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/stamp"
	"github.com/holdfast-go/holdfast/rlock"
)

// tick is how often a holder looks whether it still holds: the precision of an interval that ends
// with a loss.
const tick = 3 * time.Millisecond

// worker is one goroutine of a client process.
type worker struct {
	client *client
	name   string
	random *rand.Rand
	plain  []*rlock.Lock
	short  []*rlock.Lock // with MaxWait
	fixed  []*rlock.Lock // with FixedLease
}

func newWorker(c *client, name string, random *rand.Rand) *worker {
	w := &worker{client: c, name: name, random: random}
	for _, n := range names {
		w.plain = append(w.plain, rlock.New(c.rlock, n))
		w.short = append(w.short, rlock.New(c.rlock, n, rlock.MaxWait(c.lease/8)))
		w.fixed = append(w.fixed, rlock.New(c.rlock, n, rlock.FixedLease(c.lease/2)))
	}
	return w
}

// roam does one operation of any kind, on any name.
func (w *worker) roam() {
	n, ctx := w.random.IntN(len(names)), context.Background()
	switch kind := w.random.IntN(100); {
	case kind < 12:
		w.enter(ctx, "try", w.plain[n], w.plain[n].TryLock, w.span())
	case kind < 22:
		w.enter(ctx, "max-wait", w.short[n], w.short[n].Lock, w.span())
	case kind < 32:
		w.enter(ctx, "fixed-lease", w.fixed[n], w.fixed[n].Lock, w.span())
	case kind < 42:
		ctx, cancel := context.WithTimeout(ctx, time.Duration(1+w.random.IntN(50))*time.Millisecond)
		defer cancel()
		w.enter(ctx, "deadline", w.plain[n], w.plain[n].Lock, w.span())
	default:
		w.enter(ctx, "lock", w.plain[n], w.plain[n].Lock, w.span())
	}
}

// live does one operation that must succeed.
func (w *worker) live() {
	n := w.random.IntN(len(names))
	lock := w.plain[n]
	if w.random.IntN(4) == 0 {
		lock = w.fixed[n]
	}
	w.enter(context.Background(), "live", lock, lock.Lock, time.Duration(w.random.IntN(2000))*time.Microsecond)
}

// span is how long to stay inside: mostly for a moment, now and then beyond a renewal, rarely for longer
// than the lease.
func (w *worker) span() time.Duration {
	lease := w.client.lease
	switch kind := w.random.IntN(1000); {
	case kind < 1:
		return lease + lease/4
	case kind < 6:
		return time.Duration(w.random.Int64N(int64(lease)))
	case kind < 150:
		return time.Duration(w.random.IntN(8000)) * time.Microsecond
	default:
		return time.Duration(w.random.IntN(500)) * time.Microsecond
	}
}

type lockFunc func(context.Context) (context.Context, func() error, error)

// enter takes the lock, stays inside for a while, and leaves; and tells of all of it.
func (w *worker) enter(ctx context.Context, op string, lock *rlock.Lock, take lockFunc, span time.Duration) {
	c := Call{Client: w.name, Op: op, Called: stamp.Now()}
	held, unlock, err := take(ctx)
	start := stamp.Now()
	c.Returned, c.Outcome = start, w.outcome(op, err)
	w.client.tell(callLine(c))
	if err != nil {
		return
	}
	s := stay{worker: w, lock: lock, held: held, Hold: Hold{Client: w.name, Name: lock.Name(), Start: start}}
	begun := s.begin()
	if begun {
		s.remain(span, op != "live" || w.random.IntN(2) == 0)
		w.client.tell(endLine(s.ID, s.End))
	}
	outcome := w.outcome("unlock", unlock())
	if op == "live" && outcome == outcomeLost && stamp.Now()-start > w.client.lease/4 {
		outcome = "lost-by-a-stalled-machine" // it came back from a moment's stay so much later
	}
	w.client.tell(fmt.Sprintln(lineUnlock, op+":"+outcome))
	if outcome == outcomeOK && !begun {
		w.bad("unlock found a hold that Held did not know")
	}
}

func (w *worker) bad(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.client.tell(lineBad + " " + w.name + " " + strings.Join(strings.Fields(text), " ") + "\n")
}

// allowed are the errors that a kind of operation may end with while faults are injected.
var allowed = map[string][]string{
	"lock":         {outcomeUnavailable},
	"fixed-lease":  {outcomeUnavailable},
	"try":          {outcomeUnavailable, outcomeBusy},
	"max-wait":     {outcomeUnavailable, outcomeBusy},
	"deadline":     {outcomeUnavailable, outcomeBusy, outcomeOver},
	"nested":       {outcomeUnavailable, outcomeLost},
	"inner-unlock": {outcomeUnavailable, outcomeLost},
	"unlock":       {outcomeUnavailable, outcomeLost},
	"live":         {outcomeUnavailable}, // which the run counts as a failure
}

// outcome is an error in one word. One that the operation may not end with is told as well.
func (w *worker) outcome(op string, err error) string {
	word := "unexpected"
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, rlock.ErrLost):
		word = outcomeLost
	case errors.Is(err, rlock.ErrUnavailable):
		word = outcomeUnavailable
	case errors.Is(err, rlock.ErrBusy):
		word = outcomeBusy
	case errors.Is(err, context.DeadlineExceeded):
		word = outcomeOver
	}
	if !slices.Contains(allowed[op], word) {
		w.bad("%s returned %v", op, err)
	}
	return word
}
