package engine

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Request is what a caller wants to hold, and how.
type Request struct {
	Proto   store.Protocol
	Lease   time.Duration
	Renewed bool          // by the watchdog, until it is unlocked
	MaxWait time.Duration // 0: as long as ctx allows
	Waits   time.Duration // the whole wait, where MaxWait is what is left of it; for the error
	Keep    time.Duration // for which the grant may be idle after its last hold; 0: it is released then
	Yields  bool          // its holder is told when others wait (see Wanted)
	hold.Limits
	Busy    bool    // the last answer that the caller had was that another has it
	Reentry Reentry // what becomes of a call whose context carries the lock already
	Place   string  // where the call was made, if that is to be told: file and line
	Loose   bool    // what is taken is nobody's: there is no hold (see Take)
	Looks   bool    // with Loose: nothing is taken, and the answer is that of all who waited for it
	Member  bool    // of a set that its caller tells observers of
	// OnBusy is called whenever the store says that another has it. It must not wait. Nil: nothing is.
	OnBusy func()

	observed *Observed // the call, while it is under way
}

// Reentry says what becomes of a call whose context carries a hold of its lock already.
type Reentry uint8

const (
	Enters  Reentry = iota // it adds a level
	Anew                   // it takes a hold of its own, as permits do
	Refused                // it is an error: see NonReentrant of package lock
)

// lasts reports that what a refused request, or a copy of it, may leave in the store does not end with a lease: the
// mark of a waiter, or what is nobody's once it was taken. An attempt that does not wait leaves neither.
func (r Request) lasts() bool { return r.Loose || r.Proto.Traits().Marks }
