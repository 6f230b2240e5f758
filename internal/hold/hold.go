package hold

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Hold is what this process has of a grant, for one turn: its validity, and the levels of those who have it. What is
// known here is the truth about the levels; the count in Redis follows it.
type Hold struct {
	Lease watchdog.Lease // its validity, and its renewal if a level wants that

	host  *Host
	start time.Duration // when the call that granted it was first sent, or it was passed on
	share *share        // its readers, where several may have it; constant once the hold is known to others

	mu     sync.Mutex // guards all below, except for counts
	state  state
	lost   bool  // it is over, and not because its owner was done with it
	inner  bool  // another side of the lock was asked for inside it
	counts bool  // no decision of Redis depends on the count of levels, so that it may follow behind; constant
	depth  int32 // levels, those under way included
	top    *Level
	cause  error // what its contexts end with, once it is over
	steps  *steps
	limit  *limit
	asked  time.Duration // the longest lease that Redis was ever asked for
}

type state uint8

const (
	live   state = iota
	ending       // its last level was unlocked, and whoever did that is releasing it
	over
)

// Init makes h a hold that Redis granted for a lease by a call first sent at start. Its Lease.Owner must be set. It
// has no level yet.
func (h *Hold) Init(host *Host, start time.Duration, want Want, counts bool) {
	h.host, h.start, h.asked, h.counts = host, start, want.Lease, counts
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
func (h *Hold) Longest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked
}

// RenewTTL is the lease that a renewal asks for: the longest that a level needs, or what was asked for first while
// there is none, be it that its Lock is about to return. It is 0 for a hold that has ended.
//
// A level may be added or unlocked before the renewal reaches Redis. A longer lease that a step has set in the meantime
// stays, because a store's renewal never shortens the lease of a hold that was nested. A shorter one is raised again;
// that keeps the lock for longer than it need be if this process dies now, and is never wrong.
func (h *Hold) RenewTTL(now time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != live {
		return 0
	}
	ttl := h.longestLocked(now)
	if ttl == 0 {
		return h.asked
	}
	h.asked = max(h.asked, ttl)
	return ttl
}

// longestLocked is the lease that Redis has to keep from now on, for every level that is left.
func (h *Hold) longestLocked(now time.Duration) time.Duration {
	var longest time.Duration
	for l := h.top; l != nil; l = l.below {
		if l.errLocked() != nil {
			continue
		}
		if l.kept {
			longest = max(longest, l.lease)
		} else {
			longest = max(longest, l.apart.Load().until-now)
		}
	}
	return longest.Truncate(time.Millisecond)
}

// coversLocked reports that the hold is renewed for another level with a lease that is no shorter.
func (h *Hold) coversLocked(lease time.Duration) bool {
	for l := h.top; l != nil; l = l.below {
		if l.kept && (!l.pending || l.joining) && l.lease >= lease && l.errLocked() == nil {
			return true
		}
	}
	return false
}

// superviseLocked gives the watchdog the hold as its levels want it, after one of them left. The
// step that is about to be sent sets the lease in Redis to ttl, so validity must not outlast that. It is shortened
// before the step is sent: an answer that is lost or late changes nothing about what Redis may have done by then.
func (h *Hold) superviseLocked(now, ttl time.Duration) {
	until := ValidUntil(now, ttl)
	for l := h.top; l != nil; l = l.below {
		if l.errLocked() == nil && l.kept {
			h.host.Watchdog.Shorten(&h.Lease, until)
			return
		}
	}
	h.host.Watchdog.Guard(&h.Lease, min(until, h.Lease.ValidUntil()))
}

// Loss and Cause are asked when a request was answered after the hold had ended, or while it ended. Loss is nil in one
// case where Cause is not: the owner was done with the hold.

// Loss is why the hold was lost; nil if it was not: its owner may have released it while a level was on its way out,
// which then is out all the same.
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
// the level's context over: the goroutine that ends contexts may not have come to it yet.
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
