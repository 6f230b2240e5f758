package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// limited are the rules of permits with leases: the errors of who cannot have any.
type limited interface {
	TooMany(capacity int64, waited bool) error
	Unset() error
	Given() int64 // the capacity, where none was set; 0: it is not known
	Misfit(n, capacity int64) error
	Patient() bool
	Short(capacity int64) error
	Unused() time.Duration
}

// pool is what stands at the key of such permits. What is free and what the holds have add up to the capacity. The
// permits of a lease that is over are free as well, though they stand there until somebody needs them.
type pool struct {
	free  int64
	holds map[string]*portion

	expires time.Time // after its last use; zero: it does not
}

// poolLocked is the pool at a key, unless it has expired.
func (s *Server) poolLocked(key string) *pool {
	at := s.pools[key]
	if at != nil && !at.expires.IsZero() && s.overLocked(at.expires) {
		delete(s.pools, key)
		return nil
	}
	return at
}

// portion is the permits of one hold.
type portion struct {
	count   int64
	expires time.Time
}

// heldLocked are the permits of all holds, and of those whose leases are over.
func (s *Server) heldLocked(p *pool) (all, over int64) {
	for _, one := range p.holds {
		all += one.count
		if s.overLocked(one.expires) {
			over += one.count
		}
	}
	return all, over
}

// permits is so many of a pool.
type permits struct {
	place
	count int64 // 0: of a hold of which only the id is known
	rules limited
}

func (p permits) hold(id string) *portion {
	if all := p.poolLocked(p.key); all != nil && all.holds[id] != nil && !p.overLocked(all.holds[id].expires) {
		return all.holds[id]
	}
	return nil
}

func (p permits) tell(free int64) int64 {
	if free <= 0 {
		return 0
	}
	return p.publishLocked(p.channel)
}

// acquire takes permits if as many are free, those of leases that are over included, and reports the rest of these.
// It refuses more than there are in all, unless that is none, which is a pause.
func (p permits) acquire(ask timedAsk) (store.AcquireReply, error) {
	at := p.poolLocked(p.key)
	if given := p.rules.Given(); at == nil && given > 0 {
		at = &pool{holds: make(map[string]*portion)}
		if p.count <= given {
			p.pools[p.key], at.free = at, given
			p.tell(given - p.count)
		} else {
			at.free = given
		}
	}
	if at == nil {
		return store.AcquireReply{Status: store.Busy, PTTL: unknownTime, Why: p.rules.Unset()}, nil
	}
	if mine := at.holds[ask.ID]; mine != nil {
		return store.AcquireReply{Status: store.Already, PTTL: max(p.leftLocked(mine.expires), 0)}, nil
	}
	held, over := p.heldLocked(at)
	if at.free+over < p.count {
		p.use(at)
		all := at.free + held
		switch {
		case all <= 0 || all >= p.count:
		case p.rules.Patient():
			return store.AcquireReply{Status: store.Busy, PTTL: unknownTime, Why: p.rules.Short(all)}, nil
		default:
			return store.AcquireReply{}, &store.Refused{Err: p.rules.TooMany(all, ask.Waited)}
		}
		return store.AcquireReply{Status: store.Busy, PTTL: p.next(at)}, nil
	}
	if at.free < p.count {
		p.collect(at)
		p.tell(at.free - p.count)
	}
	at.free -= p.count
	at.holds[ask.ID] = &portion{p.count, p.afterLocked(ask.Lease)}
	p.use(at)
	return store.AcquireReply{Status: store.Held}, nil
}

// use puts the end of the pool off, if this caller has it expire: some time after now, and after the last lease.
func (p permits) use(at *pool) {
	unused := p.rules.Unused()
	if unused == 0 {
		return
	}
	at.expires = p.afterLocked(unused)
	for _, one := range at.holds {
		if one.expires.After(at.expires) {
			at.expires = one.expires
		}
	}
}

// next is when the next lease ends.
func (p permits) next(at *pool) time.Duration {
	next := unknownTime
	for _, one := range at.holds {
		if left := p.leftLocked(one.expires); left > 0 {
			next = min(next, left)
		}
	}
	return next
}

// collect moves over what leases that are over had.
func (p permits) collect(at *pool) {
	for id, one := range at.holds {
		if p.overLocked(one.expires) {
			at.free += one.count
			delete(at.holds, id)
		}
	}
}

func (p permits) release(id string) store.ReleaseReply {
	mine := p.hold(id)
	if mine == nil {
		return store.ReleaseReply{Status: store.Gone}
	}
	at := p.pools[p.key]
	at.free += mine.count
	delete(at.holds, id)
	p.use(at)
	return store.ReleaseReply{Status: store.Done, Receivers: p.tell(at.free)}
}

// renew does not revive a lease that is over.
func (p permits) renew(id string, ttl time.Duration) bool {
	mine := p.hold(id)
	if mine == nil {
		return false
	}
	mine.expires = p.afterLocked(ttl)
	p.use(p.pools[p.key])
	return true
}

func (p permits) inspect() store.InspectReply {
	reply := store.InspectReply{PTTL: -1}
	if at := p.poolLocked(p.key); at != nil {
		for id, one := range at.holds {
			if left := p.leftLocked(one.expires); left > 0 {
				reply.Holders = append(reply.Holders, store.Holder{ID: id, Count: one.count, TTL: left})
			}
		}
	}
	return reply
}
