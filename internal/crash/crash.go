// Package crash names the points in the engine where a fault hurts most, and lets a test strike there:
// before a request is sent, after its reply was read and before anybody has acted on it, and between the
// steps of waiting.
//
// Tests combine every point with every fault that can happen there, and prove that each pair occurred.
// Chance reaches most pairs only once in many thousand runs, and some never on a fast machine.
//
// Without a test a point costs one atomic load. Only tests set a strike. There is one per process,
// because the target is often a process of its own.
package crash

import "sync/atomic"

// Point is a place in the engine.
type Point string

// Exchange is the two points of a request: before it is sent, and after its reply was read. An error at
// Send means that nothing was sent; one at Reply, that the reply was lost after the effect.
type Exchange struct{ Send, Reply Point }

// The exchanges of the engine.
var (
	Acquire  = Exchange{"acquire.send", "acquire.reply"}
	Count    = Exchange{"count.send", "count.reply"} // of levels
	Release  = Exchange{"release.send", "release.reply"}
	Export   = Exchange{"export.send", "export.reply"}
	Adopt    = Exchange{"adopt.send", "adopt.reply"}
	Renew    = Exchange{"renew.send", "renew.reply"}
	Disowned = Exchange{"disowned.send", "disowned.reply"}
)

// The exchanges that other primitives add to those of the reentrant lock.
var (
	Register   = Exchange{"register.send", "register.reply"} // of waiters in a queue
	AcquireAll = Exchange{"acquire_all.send", "acquire_all.reply"}
	ReleaseAll = Exchange{"release_all.send", "release_all.reply"}
	Change     = Exchange{"change.send", "change.reply"} // of a change outside of any hold
)

// The points of waiting and ending. An error there is ignored: nothing is sent.
const (
	Enqueue    Point = "wait.enqueue"    // a waiter is in the local queue
	Subscribe  Point = "wait.subscribe"  // a waiter is about to subscribe
	Subscribed Point = "wait.subscribed" // the subscription was confirmed, and nothing tried since
	Wake       Point = "wait.wake"       // a wake-up was taken, and nothing tried since
	Granted    Point = "wait.granted"    // the hold is listed, and its owner does not have it yet
	Unlock     Point = "unlock.begin"    // the contexts have ended, and nothing was sent
	Close      Point = "close.begin"     // new work is refused, and nothing was released
)

// Points returns all points that the reentrant lock reaches.
func Points() []Point {
	points := []Point{Enqueue, Subscribe, Subscribed, Wake, Granted, Unlock, Close}
	for _, x := range []Exchange{Acquire, Count, Release, Export, Adopt, Renew, Disowned} {
		points = append(points, x.Send, x.Reply)
	}
	return points
}

// Strike is called at a point, in the goroutine that reached it. It may block, kill the process, or
// return an error, whose meaning depends on the point.
type Strike func(at Point) error

var strike atomic.Pointer[Strike]

// Set makes every point call s from now on, and returns a function that undoes that.
func Set(s Strike) (undo func()) {
	strike.Store(&s)
	return func() { strike.Store(nil) }
}

// At is called by the engine at a point.
func At(p Point) error {
	if s := strike.Load(); s != nil {
		return (*s)(p)
	}
	return nil
}
