package pipeline

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// The states of a call. Every transition is one compare-and-swap, so for each call one side wins:
//
//	queued → carried    the worker: it is part of an exchange, which may have to wait for a connection
//	queued → taken      the worker: its time is over, or its caller's context has ended; it is never sent
//	queued → left       the caller: it is never sent
//	carried → sent      the worker: it is about to be written, and may be carried out
//	carried → taken     the worker: the exchange ended before anything was written
//	carried → left      the caller: it is never sent
//	sent → taken        the worker: the caller gets the answer, whatever became of its context
//	sent → left         the caller: the answer is dropped, and settled tells when it came
const (
	queued int32 = iota
	carried
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
	done  <-chan struct{} // of ctx, whose methods may be the application's and are not called under the mutex of a node
	cmd   redis.Cmder
	size  int       // of its arguments
	limit time.Time // after which it is not sent

	state    atomic.Int32
	answered chan struct{} // has room for one
	err      error
	settled  func(err error) // tells the caller that left what became of the exchange; nil: nobody left

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
	if !now.Before(c.limit) {
		return store.ErrLate
	}
	select {
	case <-c.done:
		return store.ErrUnsent
	default:
		return nil
	}
}

// carry reports that the call is to be part of an exchange now.
func (c *call) carry(now time.Time) bool {
	why := c.pointless(now)
	if why == nil {
		return c.state.CompareAndSwap(queued, carried)
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
	case c.state.CompareAndSwap(carried, taken), c.state.CompareAndSwap(sent, taken):
		c.answer(err)
	case c.settled != nil:
		c.settled(err)
	}
}

// leave is for the caller whose context has ended. It returns the answer if that came first.
func (c *call) leave(limit time.Time) error {
	c.timer.Stop()
	if c.state.CompareAndSwap(queued, left) || c.state.CompareAndSwap(carried, left) {
		return store.ErrUnsent
	}
	settled := make(chan struct{})
	var once sync.Once
	var outcome error // written before settled is closed
	settle := func(err error) {
		once.Do(func() {
			outcome = err
			close(settled)
		})
	}
	timer := time.AfterFunc(time.Until(limit), func() { settle(context.DeadlineExceeded) })
	c.settled = func(err error) {
		timer.Stop()
		settle(err)
	}
	if c.state.CompareAndSwap(sent, left) {
		return &store.Left{Settled: settled, Outcome: func() error { return outcome }}
	}
	timer.Stop()
	<-c.answered // or about to be
	return c.err
}

// errUnconnected is the error of a call whose time ended before a connection was there for it. It was never sent.
var errUnconnected = &store.Failure{
	Fault: store.FaultTransient,
	Err:   fmt.Errorf("no connection to the server was ready in time: %w", context.DeadlineExceeded),
}

// expire is for the caller whose time is over. It returns the answer if that came first.
func (c *call) expire() error {
	switch {
	case c.state.CompareAndSwap(queued, left):
		return store.ErrLate
	case c.state.CompareAndSwap(carried, left):
		return errUnconnected
	case c.state.CompareAndSwap(sent, left):
		return context.DeadlineExceeded
	}
	<-c.answered
	return c.err
}
