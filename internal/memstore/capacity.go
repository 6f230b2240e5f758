package memstore

import (
	"math"

	"github.com/holdfast-go/holdfast/internal/store"
)

// capacityLocked is how many permits there are in all.
func (s *Server) capacityLocked(p *pool) int64 {
	held, _ := s.heldLocked(p)
	return p.free + held
}

// look is how many permits are free, or how many there are in all.
func (p permits) look(verb store.Verb) store.ChangeReply {
	at := p.poolLocked(p.key)
	if at == nil {
		return store.ChangeReply{Status: store.Gone}
	}
	value := p.capacityLocked(at)
	if verb == store.Look {
		_, over := p.heldLocked(at)
		value = at.free + over
	}
	return store.ChangeReply{Value: value}
}

// change sets or changes the capacity, however much is held, or deletes what nobody holds anything of.
func (p permits) change(what store.Change, ask timedAsk) (store.ChangeReply, error) {
	asked, now := p.numberLocked(p.key), p.microsLocked()
	at := p.poolLocked(p.key)
	if at == nil {
		at = &pool{holds: make(map[string]*portion)}
	}
	held, over := p.heldLocked(at)
	_, done := asked.done[ask.ID]
	_, idle := asked.idle[ask.ID]
	reply := store.ChangeReply{Status: store.Done}
	switch {
	case what.Verb == store.Look || what.Verb == store.Size:
		return p.look(what.Verb), nil
	case done:
		return store.ChangeReply{Status: store.Already, Value: p.capacityLocked(at)}, nil
	case what.Verb == store.Begin || what.Verb == store.Add:
		if idle || !p.fits(what) {
			asked.idled(ask, now)
			return p.unchanged(what)
		}
		if what.Verb == store.Begin {
			what.N -= held
		}
		reply.Value = p.setFree(at, at.free+what.N)
	case what.Verb == store.Set:
		p.setFree(at, what.N-held)
		reply.Value = at.free + over
	case what.Verb != store.Delete:
		return p.place.change(what, ask)
	case idle || held > over:
		asked.idled(ask, now)
		return store.ChangeReply{Status: store.Busy, Value: held - over}, nil
	case p.pools[p.key] != nil:
		delete(p.pools, p.key)
		p.publishLocked(p.channel)
	}
	asked.did(ask, 0, now)
	return reply, nil
}

// fits reports whether the capacity can be begun, or changed by that much.
func (p permits) fits(what store.Change) bool {
	at := p.poolLocked(p.key)
	if what.Verb == store.Begin || at == nil {
		return what.Verb == store.Begin && at == nil
	}
	capacity := p.capacityLocked(at) + what.N
	return 0 <= capacity && capacity <= math.MaxInt32
}

// unchanged is the answer to a change that was not made.
func (p permits) unchanged(what store.Change) (store.ChangeReply, error) {
	was := p.look(store.Size)
	switch {
	case what.Verb == store.Add && was.Status == store.Gone:
		return was, nil
	case what.Verb == store.Add && !p.fits(what):
		return store.ChangeReply{}, &store.Refused{Err: p.rules.Misfit(what.N, was.Value)}
	default:
		return store.ChangeReply{Status: store.Busy, Value: was.Value}, nil
	}
}

// setFree changes how many permits are free, and so how many there are in all, which it returns. Waiters are woken if
// any are free, and if there are fewer than before, which may be too few for them.
func (p permits) setFree(at *pool, free int64) (capacity int64) {
	_, over := p.heldLocked(at)
	fewer := free < at.free
	p.pools[p.key], at.free = at, free
	p.use(at)
	if p.tell(free+over) == 0 && fewer {
		p.publishLocked(p.channel)
	}
	return p.capacityLocked(at)
}
