package luacall

import "errors"

var (
	latchSetScript  = newScript("latch_set")
	latchDownScript = newScript("latch_down")
	latchWaitScript = newScript("latch_wait")
)

// Latch is a count that callers wait for to reach zero.
type Latch struct {
	Count   string // its key
	Channel string // on which the waiters listen
	Sharded bool   // publish by SPUBLISH, as clusters do
}

func (l Latch) check() error {
	return errors.Join(checkKey("count", l.Count), checkKey("channel", l.Channel))
}

// LatchSet starts a count. If one is running, the status is Busy.
func LatchSet(l Latch, count int64, r Request) *Call[CountReply] {
	if err := check("latch_set", l.check(), r.check(), checkCount(count, 1, MaxCount)); err != nil {
		return refuse[CountReply](err)
	}
	return latchSet(l, count, 0, r)
}

// LatchSetFor starts a count that ends by itself after life milliseconds. If one is running, the status is Busy.
func LatchSetFor(l Latch, count, life int64, r Request) *Call[CountReply] {
	if err := check("latch_set", l.check(), r.check(), checkCount(count, 1, MaxCount),
		checkTTL("life", life)); err != nil {
		return refuse[CountReply](err)
	}
	return latchSet(l, count, life, r)
}

func latchSet(l Latch, count, life int64, r Request) *Call[CountReply] {
	return newCall(&latchSetScript, 2, decodeStarted,
		r.with([]any{l.Count, r.Key}, count, l.Channel, publishKind(l.Sharded), life)...)
}

// LatchDown counts down by one. The reply's Value is the remaining count.
func LatchDown(l Latch, r Request) *Call[CountReply] { return latchDown(l, r, 1) }

// LatchDelete ends the count, whatever its value.
func LatchDelete(l Latch, r Request) *Call[CountReply] { return latchDown(l, r, 0) }

func latchDown(l Latch, r Request, step int) *Call[CountReply] {
	if err := check("latch_down", l.check(), r.check()); err != nil {
		return refuse[CountReply](err)
	}
	return newCall(&latchDownScript, 2, decodeChanged,
		r.with([]any{l.Count, r.Key}, step, l.Channel, publishKind(l.Sharded))...)
}

// LatchWait asks whether the latch is open: then the status is Held. It changes nothing.
func LatchWait(count string) *Call[AcquireReply] {
	if err := check("latch_wait", checkKey("count", count)); err != nil {
		return refuse[AcquireReply](err)
	}
	return newCall(&latchWaitScript, 1, decodeAcquire, count)
}
