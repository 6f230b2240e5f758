package memstore

import "github.com/holdfast-go/holdfast/internal/store"

// requests remembers, by id, what was asked for at a key that has no holds: a copy finds it and changes nothing. It is
// forgotten when no copy can come any more.
type requests struct {
	done map[string]outcomeOf // those that changed something
	idle map[string]int64     // those that changed nothing, or were cancelled; until when, in server time in µs
}

// outcomeOf is what a request did.
type outcomeOf struct {
	until int64 // in server time in µs
	value int64
}

func newRequests() *requests {
	return &requests{done: make(map[string]outcomeOf), idle: make(map[string]int64)}
}

// did remembers a request that was carried out, for as long as it may be sent again.
func (r *requests) did(ask store.Ask, value, now int64) {
	r.done[ask.ID] = outcomeOf{max(ask.NotAfter, ask.Until), value}
	r.forget(ask, now)
}

// idled remembers a request that was answered and changed nothing, for as long as a copy of it may be carried out.
func (r *requests) idled(ask store.Ask, now int64) {
	r.idle[ask.ID] = max(r.idle[ask.ID], ask.NotAfter)
	r.forget(ask, now)
}

// forget drops what is over. Those that the client says to be settled are over with their not-after.
func (r *requests) forget(ask store.Ask, now int64) {
	for _, one := range ask.Settled {
		if was, known := r.done[one.ID]; known {
			r.done[one.ID] = outcomeOf{one.NotAfter, was.value}
		}
	}
	for id, one := range r.done {
		if one.until < now {
			delete(r.done, id)
		}
	}
	for id, until := range r.idle {
		if until < now {
			delete(r.idle, id)
		}
	}
}
