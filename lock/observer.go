package lock

import "time"

// Observer is a set of callbacks for metrics and traces. Nil functions are skipped. Waiting, Acquired and Released
// run in the goroutine that locks or unlocks, and delay it. Renewed runs in a goroutine of its own, one event after
// another, and so does Lost: one that blocks delays the next event of its kind, but never a renewal, a loss or the
// log. Losses are never dropped. Renewals are dropped when some thousands are queued, and the log says how many. A
// panic is logged and goes no further. None of the functions may call Close, because Close waits for them.
type Observer struct {
	// Waiting: the lock is busy and the call waits.
	Waiting func(name string)
	// Acquired: the lock is held, after waiting this long. Re-entries are not reported.
	Acquired func(name string, waited time.Duration)
	// Renewed: a renewal was confirmed, or failed. A failed renewal is not yet a loss.
	Renewed func(name string, err error)
	// Lost: the hold was lost, and why. Every loss is reported: while Lost blocks, one error for each lost hold stays
	// in memory.
	Lost func(err *LostError)
	// Released: the last level was unlocked, after this long, or the hold was exported. The error says that it was
	// lost, or that Redis could not be told.
	Released func(name string, held time.Duration, err error)
}
