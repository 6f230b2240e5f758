package memstore

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
func (r *requests) did(ask timedAsk, value, now int64) {
	r.done[ask.ID] = outcomeOf{max(ask.NotAfter, ask.Until), value}
	r.forget(now)
}

// idled remembers a request that was answered and changed nothing, for as long as a copy of it may be carried out.
func (r *requests) idled(ask timedAsk, now int64) {
	r.idle[ask.ID] = max(r.idle[ask.ID], ask.NotAfter)
	r.forget(now)
}

// forget drops what is over.
func (r *requests) forget(now int64) {
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
