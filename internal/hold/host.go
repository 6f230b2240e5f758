package hold

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Tick is that of the wheel. A validity falls short of its lease by one, because a timer may fire that much early.
const Tick = 10 * time.Millisecond

// ValidUntil is when a hold stops being valid that the store keeps for lease since start.
func ValidUntil(start, lease time.Duration) time.Duration {
	return start + lease - watchdog.Margin(lease, Tick)
}

// Host is what the grants of one client share: the clock, and those who carry out and tell what a grant decides. No
// function of it is called while the mutex of a key is held, except Lost where there is no cause: it only makes an
// error then, and calls no method of one.
type Host struct {
	Clock    *watchdog.Clock
	Wheel    *watchdog.Wheel
	Watchdog *watchdog.Watchdog

	Released error                                            // what the context of an unlocked level ends with
	Lost     func(g *Grant, reason Reason, cause error) error // makes the error of a loss
	Expire   func(g *Grant, reason Reason, ended Ended)       // a limit has ended the grant; its contexts end soon
	Free     func(last *Hold)                                 // the last context of its grant has ended
	Soon     func(end func())                                 // calls end in a goroutine of the ender's
	HoldLost func(owners []*Owner, err error)                 // a Hold was lost, and its grant was not
	Detach   func(fn func())                                  // runs fn in a goroutine of its own
	Count    func(g *Grant, from, to int32)                   // tells a count behind the calls, then calls Counted

	released atomic.Pointer[stage] // the end that all unlocked levels share; nil: there was none yet
}

// end is what ends the context of a level. That of an unlocked one is made once for all: every turn has one.
func (h *Host) end(cause error) *stage {
	if cause != h.Released {
		return newEnd(cause)
	}
	if h.released.Load() == nil {
		h.released.CompareAndSwap(nil, newEnd(cause))
	}
	return h.released.Load()
}

// Reason says how a hold was lost.
type Reason int8

// The reasons, in the order of the public API's.
const (
	Expired Reason = iota + 1 // validity ended without a renewal, or its Grace began
	Gone                      // the store says that the hold is gone
	MaxHold                   // it was held for as long as it may be
)

// Want is what a Lock call wants.
type Want struct {
	Terms
	Limits
	Place string // of the call: file and line; "": it is not known
}

// Limits are how long a Lock call has what it gets.
type Limits struct {
	MaxHold time.Duration // 0: any time
	MinHold time.Duration // for which the lock is kept, however early it is released: only the store grants it; 0: none
	Grace   time.Duration // how long before the validity its Hold ends; 0: with it
}
