package pipeline

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// The states of a call. Every transition is one compare-and-swap, so for each call one side wins:
//
//	queued → sent    the worker: it is part of an exchange, and may be carried out
//	queued → taken   the worker: its time is over, or its caller's context has ended; it is never sent
//	queued → left    the caller: it is never sent
//	sent → taken     the worker: the caller gets the answer, whatever became of its context
//	sent → left      the caller: the answer is dropped, and settled tells when it came
const (
	queued int32 = iota
	sent
	taken
	left
)

// call is a command on its way.
//
// After the transition to taken, the worker sets err and sends to answered once, and the caller reads err and cmd when
// it has received. The caller writes settled before the transition to left, and the worker reads it after its own
// transition has failed.
type call struct {
	ctx   context.Context
	cmd   redis.Cmder
	size  int       // of its arguments
	limit time.Time // after which it is not sent

	state    atomic.Int32
	answered chan struct{} // has room for one
	err      error
	settled  func() // tells the caller that left that the exchange is over; nil: nobody left

	timer *time.Timer // ends the caller's wait; stopped while nobody waits
}

// newCall makes a call that was never used.
func newCall() *call {
	c := &call{answered: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	c.timer.Stop()
	return c
}

// size is about how many bytes a command has.
func size(cmd redis.Cmder) (n int) {
	for _, arg := range cmd.Args() {
		const header = 16
		n += header
		if text, ok := arg.(string); ok {
			n += len(text)
		}
	}
	return n
}

// pointless returns why sending the call has become pointless, or nil.
func (c *call) pointless(now time.Time) error {
	switch {
	case !now.Before(c.limit):
		return store.ErrLate
	case c.ctx.Err() != nil:
		return store.ErrUnsent
	}
	return nil
}

// send reports that the call is to be sent now.
func (c *call) send(now time.Time) bool {
	why := c.pointless(now)
	if why == nil {
		return c.state.CompareAndSwap(queued, sent)
	}
	if c.state.CompareAndSwap(queued, taken) {
		c.answer(why)
	}
	return false
}

// answer gives a call that was taken its outcome.
func (c *call) answer(err error) {
	c.err = err
	c.answered <- struct{}{}
}

// end gives the outcome of the exchange to the caller, or tells it that it is over.
func (c *call) end(err error) {
	switch {
	case c.state.CompareAndSwap(sent, taken):
		c.answer(err)
	case c.settled != nil:
		c.settled()
	}
}

// leave is for the caller whose context has ended. It returns the answer if that came first.
func (c *call) leave(limit time.Time) error {
	c.timer.Stop()
	if c.state.CompareAndSwap(queued, left) {
		return store.ErrUnsent
	}
	settled := make(chan struct{})
	settle := sync.OnceFunc(func() { close(settled) })
	timer := time.AfterFunc(time.Until(limit), settle)
	c.settled = func() {
		timer.Stop()
		settle()
	}
	if c.state.CompareAndSwap(sent, left) {
		return &store.Left{Settled: settled}
	}
	timer.Stop()
	<-c.answered // or about to be
	return c.err
}

// expire is for the caller whose time is over. It returns the answer if that came first.
func (c *call) expire() error {
	switch {
	case c.state.CompareAndSwap(queued, left):
		return store.ErrLate
	case c.state.CompareAndSwap(sent, left):
		return context.DeadlineExceeded
	}
	<-c.answered
	return c.err
}
