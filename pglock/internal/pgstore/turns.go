package pgstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// A client that hears of no release finds a lock free only if it asks while it is. Where the lock goes from hand to
// hand among clients that hear, it is free for the moment that the next of them needs to ask. So a client that hears
// nothing asks the oftener, the shorter the holds are that it sees. Once it has been passed over, it notes in the row
// that it will ask again soon. The next release then reserves the lock for clients that hear nothing, until that one
// has asked.
//
// A reservation costs the others the time until the waiter asks. It makes nobody hold anything: a client that asks
// meanwhile is told that the lock is busy. A waiter that is gone costs them the rest of its last note, once.
const (
	leastPoll = 5 * time.Millisecond
	// noteMost is the longest pause between two questions of a waiter that has been passed over.
	noteMost = 250 * time.Millisecond
	// noteSpare is for how much longer than two such pauses its note stands: a busy machine may be late.
	noteSpare = 20 * time.Millisecond
)

// turns is what a waiter that hears nothing saw at its questions: whose turn it was.
type turns struct {
	id     string            // of the grant that was seen last
	since  time.Duration     // when it was seen first
	last   map[string]string // the grant that each client was seen to have, since its own last turn; nil if passed
	passed bool              // one of them had another turn meanwhile
}

// see takes in that a grant has the lock, and returns how soon to ask again.
func (t *turns) see(id string, now time.Duration) time.Duration {
	if id != t.id {
		t.id, t.since = id, now
	}
	if of := store.ClientOf(id); of != "" && !t.passed {
		t.note(of, id)
	}
	return t.pause(now)
}

// note takes in that a client has the grant of an id.
func (t *turns) note(client, id string) {
	if was, seen := t.last[client]; seen && was != id {
		t.passed, t.last = true, nil
		return
	}
	if t.last == nil {
		t.last = make(map[string]string)
	}
	t.last[client] = id
}

// pause is how soon to ask again: when the hold that was seen last has lasted half as long again.
func (t *turns) pause(now time.Duration) time.Duration {
	pause := max((now-t.since)/2, leastPoll)
	if t.passed {
		return min(pause, noteMost)
	}
	return pause
}

// polls takes in which grant has a lock that somebody waits for. If this client hears of no release, it returns how
// soon to ask again; 0: that is as usual.
func (h *hub) polls(name, id string, now time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lines[name]
	switch {
	case !h.deaf:
		return 0
	case l == nil:
		return leastPoll
	}
	return l.see(id, now)
}

// served takes in that this client has its turn.
func (h *hub) served(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l := h.lines[name]; l != nil {
		l.turns = turns{}
	}
}

// passedOver is those of names for which this client waits, hears nothing, and was passed over; and for how long it
// notes that.
func (h *hub) passedOver(names []string, now time.Duration) (some []string, most time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range names {
		if l := h.lines[name]; h.deaf && l != nil && len(l.tickets) > 0 && l.passed {
			some, most = append(some, name), max(most, 2*l.pause(now)+noteSpare)
		}
	}
	return some, most
}
