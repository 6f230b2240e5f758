package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// plain is the lock that one has at a time.
type plain struct{ place }

// lock is what stands at a key.
type lock struct {
	id      string
	count   int64
	expires time.Time
	seen    time.Time // when it is committed, whatever the server's clock says
}

// rowLocked reports that a key is that of a lock which is not committed: as a row of PostgreSQL whose transaction has
// not ended, nobody sees it, nobody else can have it, and a release waits for it.
func (s *Server) rowLocked(key string) bool {
	l := s.locks[key]
	return l != nil && time.Now().Before(l.seen)
}

// rowPoll is how soon to ask again for a lock that is not committed.
const rowPoll = 50 * time.Millisecond

// lockLocked is the lock at a key, if its lease is not over.
func (s *Server) lockLocked(key string) *lock {
	l := s.locks[key]
	if l != nil && s.overLocked(l.expires) && !s.rowLocked(key) {
		delete(s.locks, key)
		return nil
	}
	return l
}

// hold is the lock if that hold has it.
func (p plain) hold(id string) *lock {
	if l := p.lockLocked(p.key); l != nil && l.id == id {
		return l
	}
	return nil
}

func (p plain) take(ask store.Ask) {
	p.locks[p.key] = &lock{
		id: ask.ID, count: 1, expires: p.afterLocked(ask.Lease), seen: time.Now().Add(p.commit),
	}
	p.commit = 0
}

func (p plain) acquire(ask timedAsk) (store.AcquireReply, error) {
	l := p.lockLocked(p.key)
	switch {
	case ask.More:
		return p.mint(ask.ID), nil
	case p.rowLocked(p.key):
		return store.AcquireReply{Status: store.Busy, PTTL: rowPoll}, nil
	case l == nil:
		p.take(ask.Ask)
		fence, spare := p.mintLocked(p.key)
		return store.AcquireReply{Status: store.Held, Fence: fence, Spare: spare}, nil
	case l.id == ask.ID:
		return store.AcquireReply{Status: store.Already, Fence: p.fences[p.key], PTTL: p.leftLocked(l.expires)}, nil
	}
	recalled := p.wantLocked(p.key, l.id)
	return store.AcquireReply{Status: store.Busy, PTTL: p.leftLocked(l.expires), Recalled: recalled}, nil
}

// mint is mint.lua.
func (p plain) mint(id string) store.AcquireReply {
	if p.hold(id) == nil {
		return store.AcquireReply{Status: store.Gone}
	}
	fence, spare := p.mintLocked(p.key)
	return store.AcquireReply{Status: store.Held, Fence: fence, Spare: spare}
}

// adopt makes one hold another one. An invitation to a fair lock is none.
func (p plain) adopt(ask store.Ask) store.Status {
	l := p.hold(ask.From)
	switch {
	case l != nil && l.count != invited:
		p.take(ask)
		return store.Held
	case p.hold(ask.ID) != nil:
		return store.Already
	}
	return store.Gone
}

// levels is levels.lua.
func (p plain) levels(id string, from, to int64) int64 {
	l := p.hold(id)
	if l == nil {
		return 0
	}
	if l.count == from {
		l.count = to
	}
	return l.count
}

func (p plain) release(id string) store.ReleaseReply {
	if p.hold(id) == nil {
		return store.ReleaseReply{Status: store.Gone}
	}
	delete(p.locks, p.key)
	return store.ReleaseReply{Status: store.Done, Receivers: p.publishLocked(p.channel)}
}

// retaining is the lock for a hold whose release retains it until a time, as retain.lua does it.
type retaining struct {
	plain
	until int64
	most  time.Duration
	as    string
}

func (r retaining) release(id string) store.ReleaseReply {
	left := min(r.until-r.microsLocked(), r.most.Microseconds())
	if left <= 0 || r.hold(id) == nil {
		return r.plain.release(id)
	}
	r.locks[r.key] = &lock{
		id: r.as, count: 1, expires: r.afterLocked(time.Duration(left) * time.Microsecond),
	}
	return store.ReleaseReply{Status: store.Done, Receivers: r.publishLocked(r.channel)}
}

// renew reports false if the hold is not there.
func (p plain) renew(id string, ttl time.Duration) bool {
	l := p.hold(id)
	if l == nil {
		return false
	}
	l.expires = p.afterLocked(ttl)
	return true
}

func (p plain) inspect() store.InspectReply {
	l := p.lockLocked(p.key)
	if l == nil {
		return store.InspectReply{PTTL: -1}
	}
	return store.InspectReply{
		PTTL: p.leftLocked(l.expires), Holders: []store.Holder{{ID: l.id, Count: l.count}},
	}
}
