package hold

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Hold is what this process has of a grant, for one turn: its validity, and the levels of those who have it. What is
// known here is the truth about the levels; the count in Redis follows it.
type Hold struct {
	Lease watchdog.Lease // its validity, and its renewal if it is kept

	host  *Host
	start time.Duration // when the call that granted it was first sent, or it was passed on
	share *share        // its readers, where several may have it; constant once the hold is known to others

	mu    sync.Mutex // guards all below, except for what is constant
	state state
	lost  bool  // it is over, and not because its owner was done with it
	inner bool  // another side of the lock was asked for inside it
	kept  bool  // it is renewed until it ends; constant
	depth int32 // levels, those under way included
	top   *Level
	cause error // what its contexts end with, once it is over
	steps *steps
	limit *limit
	lease time.Duration // which Redis was asked for; constant
}

type state uint8

const (
	live   state = iota
	ending       // its last level was unlocked, and whoever did that is releasing it
	over
)

// Init makes h a hold that Redis granted for a lease by a call first sent at start. Its Lease.Owner must be set. It
// has no level yet.
func (h *Hold) Init(host *Host, start time.Duration, want Want) {
	h.host, h.start, h.lease, h.kept = host, start, want.Lease, want.Kept
	if want.Kept {
		host.Watchdog.Keep(&h.Lease, start, want.Lease)
	} else {
		host.Watchdog.Guard(&h.Lease, ValidUntil(start, want.Lease))
	}
}

// Start is when the call that granted the hold was first sent, or the hold was passed on.
func (h *Hold) Start() time.Duration { return h.start }

// Valid reports that Redis cannot have given the lock to anybody else yet.
func (h *Hold) Valid() bool { return h.host.Clock.Now() < h.Lease.ValidUntil() }

// Live reports that nobody has ended the hold, or begun to.
func (h *Hold) Live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == live
}

// Longest is how long Redis keeps the hold at most, if nothing extends it any more.
func (h *Hold) Longest() time.Duration { return h.lease }

// RenewTTL is the lease that a renewal asks for, which is the same each time: that of the call that took the hold. It
// is 0 for a hold that has ended.
func (h *Hold) RenewTTL() time.Duration {
	if !h.Live() {
		return 0
	}
	return h.lease
}

// neededLocked reports that a level has neither been unlocked nor ended, those under way included. Otherwise nobody
// needs the hold any more.
func (h *Hold) neededLocked() bool {
	for l := h.top; l != nil; l = l.below {
		if l.errLocked() == nil {
			return true
		}
	}
	return false
}

// Nested reports that the hold has more than one level.
func (h *Hold) Nested() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.depth > 1
}

// Loss is why the hold was lost; nil if it was not: its owner may have released it while a level was on its way out,
// which then is out all the same.
//
// Loss and Cause are asked when a request was answered after the hold had ended, or while it ended. Loss is nil in one
// case where Cause is not: the owner was done with the hold.
func (h *Hold) Loss() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.lost {
		return nil
	}
	return h.cause
}

// Cause is what the hold's contexts end with; nil while it is not over.
func (h *Hold) Cause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cause
}

// Over reports that the hold is over.
func (h *Hold) Over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state == over
}

// Standing reports why a level that a context carries cannot be entered again: its own end, whatever became of the
// hold after that, or the hold's. It reports releasing if the hold is being released. Whoever is told of an end finds
// the level's context over: the ender may not have come to it yet.
func (h *Hold) Standing(from *Level) (err error, releasing bool) {
	h.mu.Lock()
	err, releasing = from.errLocked(), h.state == ending
	if err == nil && h.state == over {
		err = h.cause
	}
	h.mu.Unlock()
	if err != nil {
		from.cancel(err)
	}
	return err, releasing
}

// MarkOuter notes that another side of the lock is asked for inside the hold, which must be live. A request that names
// the hold may be carried out for as long as its copies are about, and what it takes stands beside the hold: from now
// on the hold is not passed on in memory, where its id would be somebody else's turn. Whether it was unlocked before is
// decided under the mutex under which PassTo decides.
func (h *Hold) MarkOuter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return false
	}
	h.inner = true
	return true
}
