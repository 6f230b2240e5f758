package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// writer is the side of a read-write lock that one has at a time. A waiting one shuts the gate for that long.
type writer struct {
	place
	shut time.Duration
}

// hold is the lock if that writer has it.
func (w writer) hold(id string) *rwLock {
	if l := w.rwLocked(w.key); l != nil && l.writer == id {
		return l
	}
	return nil
}

// acquire waits for readers that live, and shuts the gate unless nobody is going to wait. A writer is to come back
// before the gate opens again.
func (w writer) acquire(ask timedAsk) (store.AcquireReply, error) {
	l := w.rwLocked(w.key)
	if l != nil && l.writer == ask.ID {
		return store.AcquireReply{Status: store.Already, Fence: w.fences[w.key], PTTL: w.leftLocked(l.expires)}, nil
	}
	if l != nil && l.writer != "" {
		return w.busy(w.leftLocked(l.expires)), nil
	}
	if l != nil {
		if lives := w.livesLocked(l, ""); lives > 0 {
			if !ask.Once {
				w.gates[w.key] = &gate{ask.ID, w.afterLocked(w.shut)}
			}
			return w.busy(lives), nil
		}
	}
	w.rwLocks[w.key] = &rwLock{
		writer: ask.ID, readers: make(map[string]*lock), expires: w.afterLocked(ask.Lease),
	}
	delete(w.gates, w.key)
	fence, spare := w.mintLocked(w.key)
	return store.AcquireReply{Status: store.Held, Fence: fence, Spare: spare}, nil
}

func (w writer) busy(left time.Duration) store.AcquireReply {
	return store.AcquireReply{Status: store.Busy, PTTL: min(left, w.shut*2/5)}
}

func (w writer) adopt(ask store.Ask) store.Status {
	l := w.hold(ask.From)
	switch {
	case l != nil:
		l.writer = ask.ID
		w.shorten(l, ask.Lease)
		return store.Held
	case w.hold(ask.ID) != nil:
		return store.Already
	}
	return store.Gone
}

// shorten sets the lease, but not below those of readers inside.
func (w writer) shorten(l *rwLock, ttl time.Duration) {
	until := w.afterLocked(ttl)
	if len(l.readers) > 0 {
		until = later(l.expires, until)
	}
	l.expires = until
}

// release leaves the lock to the readers inside. One that has no hold opens the gate that it shut.
func (w writer) release(id string) store.ReleaseReply {
	l := w.hold(id)
	if l == nil {
		if g := w.gateLocked(w.key); g != nil && g.writer == id {
			delete(w.gates, w.key)
			w.publishLocked(w.channel)
		}
		return store.ReleaseReply{Status: store.Gone}
	}
	l.writer = ""
	if len(l.readers) == 0 {
		delete(w.rwLocks, w.key)
	}
	return store.ReleaseReply{Status: store.Done, Receivers: w.publishLocked(w.channel)}
}

func (w writer) renew(id string, ttl time.Duration) bool {
	l := w.hold(id)
	if l == nil {
		return false
	}
	l.expires = later(l.expires, w.afterLocked(ttl))
	return true
}

func (w writer) inspect() store.InspectReply {
	l := w.rwLocked(w.key)
	if l == nil || l.writer == "" {
		return store.InspectReply{PTTL: -1}
	}
	return store.InspectReply{
		PTTL: w.leftLocked(l.expires), Holders: []store.Holder{{ID: l.writer, Count: 1}},
	}
}
