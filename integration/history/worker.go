package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// tick is how often a holder checks that it still holds: the precision of an interval that ends with a loss.
const tick = 3 * time.Millisecond

// worker is one goroutine of a client process.
type worker struct {
	client *client
	name   string
	random *rand.Rand
	locks  map[string]locks
}

func newWorker(c *client, name string, random *rand.Rand) *worker {
	w := &worker{client: c, name: name, random: random, locks: make(map[string]locks)}
	for _, n := range append([]string{c.own}, c.contended()...) {
		w.locks[n] = c.locks(n)
	}
	return w
}

// span is how long to stay inside: mostly a moment, now and then beyond a renewal, rarely longer than the lease. A
// lingering worker stays longer more often.
func (w *worker) span() time.Duration {
	lease, kind := w.client.Lease, w.random.IntN(1000)
	if w.client.Linger {
		switch {
		case kind < 250:
			return time.Duration(w.random.Int64N(int64(longestStay * lease)))
		case kind < 500:
			return time.Duration(w.random.Int64N(int64(lease / 3)))
		default:
			return time.Duration(w.random.IntN(8000)) * time.Microsecond
		}
	}
	switch {
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

// handle is what a stay needs of a lock, or of a semaphore.
type handle interface {
	Name() string
	Held(context.Context) (lock.Hold, error)
}

// modes are those of the holds that do not exclude all others, by operation.
var modes = map[string]string{"read": modeRead, "permit": modePermit}

type lockFunc func(context.Context) (context.Context, func() error, error)

// enter takes the lock, stays inside for a while, leaves, and reports all of it.
func (w *worker) enter(ctx context.Context, op string, l handle, take lockFunc, span time.Duration) {
	c := Call{Client: w.name, Op: op, Called: stamp.Now()}
	held, unlock, err := take(ctx)
	if s := w.arrive(c, l, held, err); s != nil {
		begun := s.visit(span, op != "live" || w.random.IntN(2) == 0)
		w.left(s, begun, unlock())
	}
}

// arrive reports a call that has returned, or has called the function that it was given. Without an error it begins a
// stay.
func (w *worker) arrive(c Call, l handle, held context.Context, err error) *stay {
	c.Returned = stamp.Now()
	c.Outcome = w.outcome(c.Op, err)
	if c.Outcome == outcomeUnavailable { // the other words say all, and a long history has very many of them
		c.Why = err.Error()
	}
	w.client.tell(callLine(c))
	if err != nil {
		return nil
	}
	return &stay{worker: w, op: c.Op, of: l, held: held, Hold: Hold{
		Client: w.name, Name: l.Name(), Mode: modes[c.Op], Called: c.Called, Start: c.Returned,
	}}
}

// left reports how a stay was unlocked.
func (w *worker) left(s *stay, begun bool, err error) {
	outcome := w.outcome("unlock", err)
	if s.op == "live" && outcome == outcomeLost && stamp.Now()-s.Start > w.client.Lease/4 {
		outcome = "lost-by-a-stalled-machine" // it came back from a moment's stay that much later
	}
	w.client.tell(fmt.Sprintln(lineUnlock, s.op+":"+outcome))
	if outcome == outcomeOK && !begun {
		w.bad("unlock found a hold that Held did not know")
	}
}

// allowed are the errors that a kind of operation may end with while faults are injected.
var allowed = map[string][]string{
	"lock":         {outcomeUnavailable},
	"fixed-lease":  {outcomeUnavailable},
	"max-hold":     {outcomeUnavailable},
	"do":           {outcomeUnavailable},
	"keep":         {outcomeUnavailable},
	"export":       {outcomeUnavailable},
	"read":         {outcomeUnavailable},
	"set":          {outcomeUnavailable},
	"permit":       {outcomeUnavailable},
	"own":          {outcomeUnavailable},
	"import":       {outcomeUnavailable, outcomeNotHeld}, // not held: its lease ran out in transit
	"try":          {outcomeUnavailable, outcomeBusy},
	"max-wait":     {outcomeUnavailable, outcomeBusy},
	"deadline":     {outcomeUnavailable, outcomeBusy, outcomeOver},
	"break":        {outcomeUnavailable, outcomeNotHeld},
	"nested":       {outcomeUnavailable, outcomeLost},
	"inner-unlock": {outcomeUnavailable, outcomeLost},
	"exported":     {outcomeUnavailable, outcomeLost},
	"unlock":       {outcomeUnavailable, outcomeLost},
	"live":         {outcomeUnavailable}, // which the run counts as a failure
}

// outcome is an error in one word. It also reports an error that the operation must not return.
func (w *worker) outcome(op string, err error) string {
	word := "unexpected"
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, lock.ErrLost):
		word = outcomeLost
	case errors.Is(err, lock.ErrUnavailable), errors.Is(err, lock.ErrUnconfirmed):
		word = outcomeUnavailable
	case errors.Is(err, lock.ErrBusy):
		word = outcomeBusy
	case errors.Is(err, lock.ErrNotHeld):
		word = outcomeNotHeld
	case errors.Is(err, context.DeadlineExceeded):
		word = outcomeOver
	}
	if !slices.Contains(allowed[op], word) {
		w.bad("%s returned %v", op, err)
	}
	return word
}
