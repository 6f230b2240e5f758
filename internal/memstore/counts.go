package memstore

import (
	"math"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// counted are the rules of permits that nobody owns.
type counted interface {
	Count() int64
	RequestLife() time.Duration // how long what was taken has to be remembered that was not answered
	TooMany(n, most int64) error
}

// number is what stands at the key of a semaphore of such permits, and of a latch.
type number struct {
	stands bool
	n      int64
	ends   time.Time // of a latch: when the count ends by itself; zero: it does not
	*requests
}

// numberLocked is the number at a key, with the requests that are remembered there, which stay when the number goes.
func (s *Server) numberLocked(key string) *number {
	n := s.numbers[key]
	if n == nil {
		n = &number{requests: newRequests()}
		s.numbers[key] = n
	}
	if !n.ends.IsZero() && s.overLocked(n.ends) {
		n.n, n.ends = 0, time.Time{}
	}
	return n
}

// counts is permits that nobody owns.
type counts struct {
	place
	rules counted
}

const unknownTime = time.Hour // nothing tells when there are more

func (c counts) tell(total int64) int64 {
	if total <= 0 {
		return 0
	}
	return c.publishLocked(c.channel)
}

// acquire takes permits if as many are free. A refusal of one that does not come back is remembered, and so a copy of
// it takes none.
func (c counts) acquire(ask timedAsk) (store.AcquireReply, error) {
	at, now := c.numberLocked(c.key), c.microsLocked()
	ask.Until = ask.NotAfter + c.rules.RequestLife().Microseconds()
	_, done := at.done[ask.ID]
	_, idle := at.idle[ask.ID]
	switch {
	case done:
		return store.AcquireReply{Status: store.Already, PTTL: unknownTime}, nil
	case idle, at.n < c.rules.Count():
		if idle || ask.Once {
			at.idled(ask, now)
		}
		return store.AcquireReply{Status: store.Busy, PTTL: unknownTime}, nil
	}
	at.did(ask, 0, now)
	at.n -= c.rules.Count()
	return store.AcquireReply{Status: store.Held}, nil
}

// release cancels a request: what it took comes back, and a copy takes nothing.
func (c counts) release(id string) store.ReleaseReply {
	at, now := c.numberLocked(c.key), c.microsLocked()
	_, done := at.done[id]
	if _, idle := at.idle[id]; idle && !done {
		return store.ReleaseReply{Status: store.Gone}
	}
	at.idle[id] = now + c.rules.RequestLife().Microseconds()
	delete(at.done, id)
	if !done {
		return store.ReleaseReply{Status: store.Gone}
	}
	at.n, at.stands = at.n+c.rules.Count(), true
	return store.ReleaseReply{Status: store.Done, Receivers: c.tell(at.n)}
}

func (c counts) change(what store.Change, ask timedAsk) (store.ChangeReply, error) {
	at, now := c.numberLocked(c.key), c.microsLocked()
	was, done := at.done[ask.ID]
	_, idle := at.idle[ask.ID]
	switch {
	case what.Verb == store.Look:
		return store.ChangeReply{Value: at.n}, nil
	case done:
		return store.ChangeReply{Status: store.Already, Value: was.value}, nil
	case what.Verb == store.Set && (idle || at.stands):
		at.idled(ask, now)
		return store.ChangeReply{Status: store.Busy, Value: at.n}, nil
	case what.Verb == store.Add && (idle || at.n+what.N > math.MaxInt32 || at.n+what.N < -math.MaxInt32):
		at.idled(ask, now)
		fit := max(math.MaxInt32-at.n, 0)
		if what.N < 0 {
			fit = min(-math.MaxInt32-at.n, 0)
		}
		return store.ChangeReply{}, &store.Refused{Err: c.rules.TooMany(what.N, fit)}
	case what.Verb == store.Drain && (idle || at.n <= 0):
		at.idled(ask, now)
		return store.ChangeReply{Status: store.Done}, nil
	}
	reply := store.ChangeReply{Status: store.Done}
	switch what.Verb {
	case store.Set, store.Add:
		at.n, at.stands = at.n+what.N, true
		reply.Value = at.n
		c.tell(at.n)
	case store.Drain:
		reply.Value, at.n = at.n, 0
	case store.Delete:
		at.n, at.stands = 0, false
	default:
		return c.place.change(what, ask)
	}
	at.did(ask, reply.Value, now)
	return reply, nil
}
