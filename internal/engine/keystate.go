package engine

import (
	"iter"
	"slices"

	"github.com/holdfast-go/holdfast/internal/localqueue"
)

// keyState is what is known of one key. It exists while somebody holds or waits. What only matters while somebody
// waits, or while several hold, is kept apart, since most keys that are held have one holder and no waiter.
//
// A held lock that nobody waits for costs a grant, its hold and level, and one keyState, and that is most of what a
// process with a hundred thousand locks consists of. Hence what is a pointer here: a map and a queue cost more than all
// of the rest.
type keyState struct {
	grant *Grant // the first; nil: there is none
	queue *keyQueue
}

// keyQueue is what is known of a key besides one grant.
type keyQueue struct {
	localqueue.Queue                   // waiters, and the modes of all grants
	shared           map[string]*Grant // the other grants, of a kind of which several live: thousands, if permits
	newest           *Grant            // that readers may join; it may be too old for that by now
}

// state is the state of a key, which is made if there is none.
func (p *part) state(key string) *keyState {
	if len(p.deserted) > 0 {
		p.clear()
	}
	s := p.keys[key]
	if s == nil {
		if p.keys == nil {
			p.keys = make(map[string]*keyState)
		}
		s = &keyState{}
		p.keys[key] = s
	}
	return s
}

// queue is the queue of a key, which is made if there is none: a key without one has one hold at most. The queue counts
// the holds of each mode, to know what is in the way of whom; one that is made late is told of the hold that was there
// before it.
func (p *part) queue(s *keyState) *localqueue.Queue {
	if s.queue == nil {
		s.queue = &keyQueue{newest: s.newest()}
		if s.grant != nil {
			s.queue.Hold(s.grant.proto.Mode())
		}
	}
	return &s.queue.Queue
}

// tidy drops what nobody needs of a key: everything, if nobody holds or waits, and the queue if there is one hold
// and the queue has nothing to remember (a run, a debt, a gate). It is called at the end of every step that may
// have made something superfluous, so a process that takes a million names once keeps nothing of them.
//
// What a key is worth keeping for, from the least to the most:
//
//	one hold, nobody waits            the state with that hold
//	one hold, and a run or a debt     the queue too, for as long as it lasts
//	several holds, or waiters         the queue, and a map of the holds from the second one on
//	a debt to others, for some ms     the queue
//	none of these                     nothing
func (p *part) tidy(key string) {
	s := p.keys[key]
	switch {
	case s == nil || s.queue != nil && !s.queue.Empty():
	case s.grant != nil:
		if s.queue != nil && s.queue.Idle() {
			s.dropQueue()
		}
	case s.queue != nil && s.queue.Remembers(p.clock.Now()):
		p.desert(key)
	default:
		delete(p.keys, key)
	}
}

// What a process owes to others outlives the state of the key by some milliseconds: a goroutine that unlocks and locks
// again finds it then. No timer ends that: the next call that comes to the part of the table removes what is over. A
// part has maxDeserted such keys at most; for a key that is removed early, nothing is owed any more.
const maxDeserted = 16

// desert keeps a key that nobody holds or waits for.
func (p *part) desert(key string) {
	if slices.Contains(p.deserted, key) {
		return
	}
	if len(p.deserted) == maxDeserted {
		if first := p.deserted[0]; p.isDeserted(first) {
			delete(p.keys, first)
		}
		p.deserted = slices.Delete(p.deserted, 0, 1)
	}
	p.deserted = append(p.deserted, key)
}

// clear removes the keys that have been deserted for long enough, and forgets that others were which are not any more.
func (p *part) clear() {
	now := p.clock.Now()
	p.deserted = slices.DeleteFunc(p.deserted, func(key string) bool {
		if !p.isDeserted(key) {
			return true
		}
		s := p.keys[key]
		over := !s.queue.Remembers(now)
		if over {
			delete(p.keys, key)
		}
		return over
	})
}

func (p *part) isDeserted(key string) bool {
	s := p.keys[key]
	return s != nil && s.grant == nil && s.queue != nil && s.queue.Empty()
}

// dropQueue has a queue forget all but the holds, and removes it if there are not several of them: with one hold a
// later queue is told of that one when it is made.
func (s *keyState) dropQueue() {
	switch {
	case s.queue == nil:
	case s.queue.shared != nil:
		s.queue.Forget()
	default:
		s.queue = nil
	}
}

// list lists a grant. The first of a key is in the state itself, and needs no queue; with a second one the queue has to
// know the modes of both.
func (p *part) list(s *keyState, g *Grant) {
	if s.grant != nil {
		p.queue(s)
		if s.queue.shared == nil {
			s.queue.shared = make(map[string]*Grant)
		}
		s.queue.shared[g.id] = g
	} else {
		s.grant = g
	}
	if s.queue == nil {
		return
	}
	s.queue.Hold(g.proto.Mode())
	if g.Shared() {
		s.queue.newest = g
	}
}

// newest is the newest grant that readers may join; it may be too old for that by now. Without a queue it is the one
// grant that there is.
func (s *keyState) newest() *Grant {
	switch {
	case s.queue != nil:
		return s.queue.newest
	case s.grant != nil && s.grant.Shared():
		return s.grant
	}
	return nil
}

// others are the grants besides the first.
func (s *keyState) others() map[string]*Grant {
	if s.queue == nil {
		return nil
	}
	return s.queue.shared
}

// unlist takes a grant out, if it is there. One of several moves up to the place in the state, whichever: no order is
// kept among holds that stand beside one another. The newest grant that readers may join is forgotten with it; the
// next reader that asks makes another one the newest.
func (s *keyState) unlist(g *Grant) {
	if !s.lists(g) {
		return
	}
	others := s.others()
	if s.grant != g {
		delete(others, g.id)
	} else {
		s.grant = nil
		for id, next := range others {
			s.grant = next
			delete(others, id)
			break
		}
	}
	if s.queue == nil {
		return
	}
	s.queue.Unhold(g.proto.Mode())
	if len(others) == 0 {
		s.queue.shared = nil
	}
	if s.queue.newest == g {
		s.queue.newest = nil
	}
}

// lists reports that g is listed.
func (s *keyState) lists(g *Grant) bool { return s.grant == g || s.others()[g.id] == g }

// find finds a grant by its id; nil if it is not there. The state may be nil, as in the methods below.
func (s *keyState) find(id string) *Grant {
	switch {
	case s == nil:
		return nil
	case s.grant != nil && s.grant.id == id:
		return s.grant
	}
	return s.others()[id]
}

// grants are those of this process.
func (s *keyState) grants() iter.Seq[*Grant] {
	return func(yield func(*Grant) bool) {
		if s == nil || s.grant == nil || !yield(s.grant) {
			return
		}
		for _, g := range s.others() {
			if !yield(g) {
				return
			}
		}
	}
}

// waiters are those in the queue, in their order.
func (s *keyState) waiters() iter.Seq[*localqueue.Waiter] {
	if s == nil || s.queue == nil {
		return func(func(*localqueue.Waiter) bool) {}
	}
	return s.queue.Waiters()
}
