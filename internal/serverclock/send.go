package serverclock

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Request is a request that must not be carried out late.
type Request struct {
	Node string
	When store.Timing

	// Of a request that the node remembers by its id: until when its first sending could be carried out (0: this is
	// the first), and for how long after that the node remembers it.
	First    store.Late
	Patience time.Duration
}

// Window is until when one sending of a request may be carried out, in µs of the node's clock.
type Window struct {
	NotAfter int64
	Until    int64 // when the node forgets the id; 0: it does not remember it
}

// Answer is what an answer says of the request and of the node's clock.
type Answer struct {
	TooLate bool  // the request did nothing, because it came too late
	Now     int64 // the node's time, in µs; 0: it is not told
}

// errClock is returned after three requests in a row that were late although they were sent by the node's own time.
var errClock = &store.Failure{
	Fault: store.FaultTransient, Err: errors.New("the clock of the server is changing too fast"),
}

// Send sends one request that must not be carried out late. Send tells its function until when, by the node's clock. A
// process that stops between the two sends the request when its time is over, and the node refuses it.
//
// A not-after that is 0 says that nothing is known of the node's clock. The node refuses such a request as late, and
// its answer tells the time. So the first request of a client to a node costs one round trip more, and no request ever
// relies on the client's wall clock. The same happens if the server's clock was set ahead. A request that was late did
// nothing, and is sent again, with a not-after by the time that was told; three that are late in a row mean a clock
// that runs away. The receipt is that of the last sending.
//
// For example, with an estimate that is two seconds behind the server's clock and a time limit of one second, a
// not-after lies a second in the past when the request arrives. "Late" costs a round trip and nothing else. With an
// estimate that is ahead, a copy may be carried out later than it need be, which only delays the clean-up: no lease
// and no validity depends on the estimate.
//
// A request that the node remembers by its id counts once, as long as no sending is carried out after the id was
// forgotten. Its first sending fixes when that is, since the node may have carried that one out, and none is sent with
// a later not-after. For example, with a patience of 5 s: the first sending at 10 s has a not-after of about 11 s by
// the node's clock, which forgets the id after 16 s. A process that is stopped for a minute in between sends a request
// that is refused.
func (c *Clocks) Send(
	ctx context.Context, now func() time.Duration, r Request, send func(Window) (Answer, error),
) (receipt store.Receipt, err error) {
	at := r.When.Sent
	for range 3 {
		window := c.window(r, at)
		answer, err := send(window)
		c.Observe(r.Node, at, now(), answer.Now)
		receipt = store.Receipt{Since: at, Late: store.Late(window.NotAfter)}
		switch {
		case err != nil || !answer.TooLate:
			return receipt, err
		case ctx.Err() != nil:
			return receipt, store.ErrUnsent // nobody waits for it any more
		}
		at = now()
	}
	return receipt, errClock
}

func (c *Clocks) window(r Request, at time.Duration) Window {
	w := Window{NotAfter: c.NotAfter(r.Node, at, r.When.Within)}
	if r.Patience == 0 || w.NotAfter == 0 {
		return w
	}
	first := int64(r.First)
	if first == 0 {
		first = w.NotAfter
	}
	w.Until = first + r.Patience.Microseconds()
	w.NotAfter = min(w.NotAfter, w.Until)
	return w
}

// Again is how soon a release is worth sending again that was carried out at a time of the node's clock; 0: nothing can
// take its id any more.
func Again(late store.Late, now int64) time.Duration {
	if now > int64(late) {
		return 0
	}
	return time.Duration(int64(late)-now)*time.Microsecond + time.Millisecond
}
