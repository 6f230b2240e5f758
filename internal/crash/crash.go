// Package crash names the places in the engine where a fault hurts most, and lets a test strike there:
// before a request is sent, after its reply was read and before anybody has acted on it, and between the
// steps of waiting.
//
// What it is for is a product: every point times everything that can go wrong there, each pair proved to
// have happened. Chance reaches most of them only once in many thousand runs, and some of them never on
// a fast machine.
//
// Without a test a point is one atomic load. Only tests set a strike; there is one per process, because
// what is to be struck is often a process of its own.
package crash

import "sync/atomic"

// Point is a place in the engine.
type Point string

// Exchange are the two points of a request: before it is sent, and after its reply was read. An error at
// Send means that nothing was sent; one at Reply, that the reply was lost after the effect.
type Exchange struct{ Send, Reply Point }

// The exchanges of the engine.
var (
	Acquire = Exchange{"acquire.send", "acquire.reply"}
	Reenter = Exchange{"reenter.send", "reenter.reply"}
	Leave   = Exchange{"leave.send", "leave.reply"}
	Count   = Exchange{"count.send", "count.reply"} // of levels that nobody waits for
	Release = Exchange{"release.send", "release.reply"}
	Handoff = Exchange{"handoff.send", "handoff.reply"}
	Adopt   = Exchange{"adopt.send", "adopt.reply"}
	Renew   = Exchange{"renew.send", "renew.reply"}
	Reclaim = Exchange{"reclaim.send", "reclaim.reply"}
)

// The exchanges that other primitives add to those of the reentrant lock.
var (
	Register   = Exchange{"register.send", "register.reply"} // of waiters in a queue
	AcquireAll = Exchange{"acquire_all.send", "acquire_all.reply"}
	ReleaseAll = Exchange{"release_all.send", "release_all.reply"}
	Once       = Exchange{"once.send", "once.reply"} // of a change that nobody holds
)

// The points of waiting and ending. An error there is ignored: nothing is sent.
const (
	Enqueue    Point = "wait.enqueue"    // a waiter stands in the local line
	Subscribe  Point = "wait.subscribe"  // its leader is about to subscribe
	Subscribed Point = "wait.subscribed" // the subscription was confirmed, and nothing tried since
	Wake       Point = "wait.wake"       // a wake-up was taken, and nothing tried since
	Granted    Point = "wait.granted"    // the hold is listed, and its owner has not got it yet
	Unlock     Point = "unlock.begin"    // the contexts are over, and nothing was sent
	Close      Point = "close.begin"     // new work is refused, and nothing was released
)

// Points are all that the reentrant lock comes by.
func Points() []Point {
	points := []Point{Enqueue, Subscribe, Subscribed, Wake, Granted, Unlock, Close}
	for _, x := range []Exchange{Acquire, Reenter, Leave, Count, Release, Handoff, Adopt, Renew, Reclaim} {
		points = append(points, x.Send, x.Reply)
	}
	return points
}

// Strike is called at a point, in the goroutine that reached it. It may block, kill the process, or
// return an error, with the meaning that the point has.
type Strike func(at Point) error

var strike atomic.Pointer[Strike]

// Set makes s what happens at every point from now on, and returns how to undo that.
func Set(s Strike) (undo func()) {
	strike.Store(&s)
	return func() { strike.Store(nil) }
}

// At is what the engine calls.
func At(p Point) error {
	if s := strike.Load(); s != nil {
		return (*s)(p)
	}
	return nil
}
