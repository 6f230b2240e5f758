package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// gated are the rules of a lock whose waiting writers keep new readers out, for so long after each attempt.
type gated interface{ GateLife() time.Duration }

// rwLock is what stands at the key of a read-write lock. A reader has a lease of its own, and is dead when that is
// over; what is left of it is cleared away by the call that comes across it. A writer lives as long as all of it does.
type rwLock struct {
	writer  string // "": none
	readers map[string]*lock
	expires time.Time // not before the last lease of a reader that lives
}

// gate keeps readers out for the sake of a writer that waits.
type gate struct {
	writer  string
	expires time.Time
}

// rwLocked is the lock at a key, if all of its leases are not over.
func (s *Server) rwLocked(key string) *rwLock {
	l := s.rwLocks[key]
	if l != nil && s.overLocked(l.expires) {
		delete(s.rwLocks, key)
		return nil
	}
	return l
}

// freshLocked is the lock at a key, made if there is none.
func (s *Server) freshLocked(key string) *rwLock {
	l := s.rwLocked(key)
	if l == nil {
		l = &rwLock{readers: make(map[string]*lock)}
		s.rwLocks[key] = l
	}
	return l
}

// gateLocked is the gate of a key if it is shut.
func (s *Server) gateLocked(key string) *gate {
	g := s.gates[key]
	if g != nil && s.overLocked(g.expires) {
		delete(s.gates, key)
		return nil
	}
	return g
}

// livesLocked is how long one of the readers lives at least, but for one; 0 if they are dead.
func (s *Server) livesLocked(l *rwLock, but string) time.Duration {
	var longest time.Duration
	for id, r := range l.readers {
		if id != but {
			longest = max(longest, s.leftLocked(r.expires))
		}
	}
	return longest
}

// reader is the side of a read-write lock that many have at a time.
type reader struct{ place }

// hold is a reader that lives, with its lock.
func (r reader) hold(id string) (*rwLock, *lock) {
	l := r.rwLocked(r.key)
	if l == nil || l.readers[id] == nil || r.overLocked(l.readers[id].expires) {
		return nil, nil
	}
	return l, l.readers[id]
}

func (r reader) add(l *rwLock, id string, lease time.Duration) {
	until := r.afterLocked(lease)
	l.readers[id] = &lock{id: id, count: 1, expires: until}
	l.expires = later(l.expires, until)
}

// acquire joins other readers unless the gate is shut, and the writer that the request comes from. A reader has the
// newest token of a writer, or one from the clock if none is known, and is told whether the writer that it comes from
// has the lock.
func (r reader) acquire(ask timedAsk) (store.AcquireReply, error) {
	l := r.rwLocked(r.key)
	written := l != nil && l.writer != ""
	inside := written && l.writer == ask.Under
	if _, mine := r.hold(ask.ID); mine != nil {
		return store.AcquireReply{
			Status: store.Already, Fence: r.fences[r.key], PTTL: r.leftLocked(l.expires), Inside: inside,
		}, nil
	}
	if written && !inside {
		return store.AcquireReply{Status: store.Busy, PTTL: r.leftLocked(l.expires)}, nil
	}
	if g := r.gateLocked(r.key); g != nil && !written {
		return store.AcquireReply{Status: store.Busy, PTTL: r.leftLocked(g.expires)}, nil
	}
	r.add(r.freshLocked(r.key), ask.ID, ask.Lease)
	if _, ok := r.fences[r.key]; !ok && !inside {
		r.mintLocked(r.key)
	}
	return store.AcquireReply{Status: store.Held, Fence: r.fences[r.key], Inside: inside}, nil
}

func (r reader) adopt(ask store.Ask) store.Status {
	if _, mine := r.hold(ask.ID); mine != nil {
		return store.Already
	}
	l, old := r.hold(ask.From)
	if old == nil {
		return store.Gone
	}
	r.add(l, ask.ID, ask.Lease)
	if ask.Beside {
		old.expires = later(old.expires, r.afterLocked(ask.Lease))
	} else {
		delete(l.readers, ask.From)
	}
	return store.Held
}

// release is told if nobody is left, or nobody that lives. What is left of a dead reader is removed, and was not held.
func (r reader) release(id string) store.ReleaseReply {
	l := r.rwLocked(r.key)
	if l == nil || l.readers[id] == nil {
		return store.ReleaseReply{Status: store.Gone}
	}
	reply := store.ReleaseReply{Status: store.Done}
	if r.overLocked(l.readers[id].expires) {
		reply.Status = store.Gone
	}
	delete(l.readers, id)
	if l.writer == "" && len(l.readers) == 0 {
		delete(r.rwLocks, r.key)
	}
	if l.writer == "" && r.livesLocked(l, id) == 0 {
		reply.Receivers = r.publishLocked(r.channel)
	}
	return reply
}

func (r reader) renew(id string, ttl time.Duration) bool {
	l, mine := r.hold(id)
	if mine == nil {
		return false
	}
	mine.expires = later(mine.expires, r.afterLocked(ttl))
	l.expires = later(l.expires, mine.expires)
	return true
}

func (r reader) inspect() store.InspectReply {
	reply := store.InspectReply{PTTL: -1}
	if l := r.rwLocked(r.key); l != nil {
		reply.PTTL = r.leftLocked(l.expires)
		for id, one := range l.readers {
			if left := r.leftLocked(one.expires); left > 0 {
				reply.Holders = append(reply.Holders, store.Holder{ID: id, Count: one.count, TTL: left})
			}
		}
	}
	return reply
}
