package lock

import "time"

// Observer is a set of functions that are told what happens, for metrics and traces. Nil functions are
// skipped. Waiting, Acquired and Released are called in the goroutine that locks or unlocks, and hold
// it up while they run. Renewed has a goroutine of its own that calls it for one event after another, and
// so has Lost: one that blocks delays the next of its kind, never a renewal, a loss or the log. Losses are
// never dropped; renewals are when some thousands wait, and the log says how many. A panic is logged and
// goes no further. None of them may call Close, which waits for them.
type Observer struct {
	// Waiting: the lock is busy and the call waits.
	Waiting func(name string)
	// Acquired: it is held, after so long. Re-entries are not told.
	Acquired func(name string, waited time.Duration)
	// Renewed: a renewal was confirmed, or failed. A failure is no loss yet.
	Renewed func(name string, err error)
	// Lost: the hold is over, and why. No loss is left out: while Lost blocks, one error waits in memory for
	// each hold that was lost.
	Lost func(err *LostError)
	// Released: the last level was unlocked, after so long, or the hold exported. An error says that
	// it was lost or that Redis could not be told.
	Released func(name string, held time.Duration, err error)
}
