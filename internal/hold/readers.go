package hold

import "time"

// shareMost is how many levels a grant has at most that somebody joins: whoever leaves looks through them.
const shareMost = 64

// share is the readers of a grant that may be joined. It is guarded by the hold's mutex, except for until.
//
// Readers of one process may have one grant together: the first asked Redis for it, the others join it and send
// nothing. Each has levels, a context and limits of its own; validity, renewal and loss are the grant's. It is
// released when the last of them leaves, whoever that is.
//
// Redis sees one reader. Its field and hold key are what they are for any reader, so that Java reads them as ever.
//
// A reader that joins while the last one leaves: both take the hold's mutex. If the one that leaves is first, the hold
// is ending and Join refuses, so the newcomer asks Redis by an id of its own. If the newcomer is first, the other is
// not the last any more and sends nothing. No release can be on its way for a hold that somebody then joins.
//
// What ends one reader (its MaxHold) ends its levels and leaves the hold to the others. What ends the hold ends all,
// and each reader is told once, whichever of its levels is unlocked first.
type share struct {
	until   time.Duration // it is joined before that; constant
	readers int32         // that have a level of it
	first   reader        // who asked Redis
}

// reader is one of those that have a grant together: what its Lock call has of it. It is guarded by the hold's mutex.
type reader struct {
	hold   *Hold
	start  time.Duration // when it came
	levels int32         // its own, those under way included
	limit  *limit
	err    error // what it ended with, if that was without its doing
	told   bool  // that it is done; or somebody else is about to tell
}

// Share lets other readers join h until an instant. Nobody else may know of h yet.
func (h *Hold) Share(until time.Duration) {
	h.share = &share{until: until}
	h.share.first = reader{hold: h, start: h.start}
}

// Shared reports that other readers may join h, or might have before.
func (h *Hold) Shared() bool { return h.share != nil }

// firstReader is the one who asked Redis; nil if nobody else may have the hold.
func (h *Hold) firstReader() *reader {
	if h.share == nil {
		return nil
	}
	return &h.share.first
}

// Join adds a reader, if Redis would let it in the same and the hold is sure to stand. Its level has no context until
// it is opened. It is nil if Redis is to be asked:
//
//   - the request that took the hold was sent some time ago: a writer may have shut the gate since;
//   - nobody is in any more, or the hold is being released or exported: whether somebody is, is decided under the mutex
//     under which the last one leaves;
//   - the lease is half over, or its last renewal failed;
//   - it is not renewed, or the new one wants another lease than Redis was asked for.
func (h *Hold) Join(want Want) *Level {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.host.Clock.Now()
	if h.state != live || now >= h.share.until || !h.healthyLocked(now, want.Lease) ||
		!h.kept || want.Lease != h.lease || h.depth >= shareMost || !h.neededLocked() {
		return nil
	}
	r := &reader{hold: h, start: now, told: true} // of one that never opens there is nothing to tell
	l := &Level{hold: h, reader: r, pending: true}
	h.pushLocked(l)
	h.limitLocked(l.reader, nil, want.MaxHold)
	return l
}

// pushedLocked counts a level of the reader's.
func (r *reader) pushedLocked() {
	if r == nil {
		return
	}
	if r.levels++; r.levels == 1 {
		r.hold.share.readers++
	}
}

// closedLocked takes a level off.
func (r *reader) closedLocked() {
	if r == nil {
		return
	}
	if r.levels--; r.levels == 0 {
		r.hold.share.readers--
		r.limit.cancel()
	}
}

// countLocked is how many levels the Lock call has that l belongs to.
func (l *Level) countLocked() int32 {
	if l.reader != nil {
		return l.reader.levels
	}
	return l.hold.depth
}

// exceed ends a reader that has been in for as long as it may be. Others stay; if there are none, the hold ends.
func (r *reader) exceed() {
	h := r.hold
	h.mu.Lock()
	if h.state != live || r.levels == 0 || r.err != nil {
		h.mu.Unlock()
		return
	}
	err := h.host.Lost(h, MaxHold, nil)
	r.err = err
	var levels []*Level
	var owners []*Owner
	for l := h.top; l != nil; l = l.below {
		if l.reader != r {
			continue
		}
		owners = l.ownersLocked(owners)
		if !l.pending {
			levels = append(levels, l)
		}
	}
	last := !h.neededLocked()
	h.mu.Unlock()
	if last { // and nobody joins any more
		h.host.Expire(h, MaxHold)
		return
	}
	h.host.Soon(func() {
		for _, l := range levels {
			l.End(err)
		}
		h.host.Told(owners, err)
	})
}

// losersLocked ends all readers that have levels of a hold that is lost, and returns how many are to be told of it: one
// where nobody shares.
func losersLocked(levels []*Level, cause error) (losers int) {
	for _, l := range levels {
		if r := l.reader; r != nil && r.err == nil {
			r.err = cause
			losers++
		}
	}
	return max(losers, 1)
}

// doneLocked is called when a level was closed. It reports, once, that its Lock call is over and that nobody else tells
// of that: the last level of a hold that was lost, and of a reader that leaves a hold to others or has ended before it.
func (l *Level) doneLocked() bool {
	h, r := l.hold, l.reader
	if r == nil {
		return h.lost && h.depth == 0
	}
	if r.levels > 0 || r.told {
		return false
	}
	r.told = true
	return h.state == live || h.lost || r.err != nil
}

// lastLocked notes that whoever closed l releases the hold and reports it.
func (l *Level) lastLocked() {
	if r := l.reader; r != nil {
		r.told = r.levels == 0
	}
}

// Withdraw takes back a level that joined and was not opened. It reports alone if the others were unlocked meanwhile,
// so that nobody else is left to release the hold.
func (h *Hold) Withdraw(l *Level) (alone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.closeLocked()
	return h.state == live && !h.neededLocked()
}
