package memstore

// turn is one request's view of a queue. The clock by which clients live goes on by a step at most from one request to
// the next: while the server stands still, or when its time is set, nobody dies.
type turn struct {
	fair
	*line
	was       record // as the request found it; zero: there was none
	recorded  bool
	now       int64 // server time in µs
	ms, clock int64
}

func (f fair) turn() *turn {
	t := &turn{fair: f, line: f.lineLocked(f.key), now: f.microsLocked()}
	t.ms = t.now / 1000
	t.clock = t.ms
	if t.record != nil {
		t.was, t.recorded = *t.record, true
		t.clock = t.was.clock + max(0, min(t.ms-t.was.seen, f.times.Step))
	}
	return t
}

// note writes the queue's clock down, and has fn write the rest.
func (t *turn) note(fn func(r *record)) {
	if t.record == nil {
		t.record = new(record)
	}
	t.record.seen, t.record.clock = t.ms, t.clock
	fn(t.record)
	t.recordEnd = t.afterMs(t.times.Unused)
}

// lives reports that a client was heard of in time.
func (t *turn) lives(client string) bool {
	until, known := t.alive[client]
	return known && until >= t.clock
}

// live has a client live from now on.
func (t *turn) live(client string) { t.alive[client] = t.clock + t.times.Life }

// atOnce is how many of the dead one request passes over.
const atOnce = 1001

// search is the first in the queue whose client lives, with how many stand before it; more says that nobody was found,
// and not everybody was looked at. Judged is what is known of clients, whatever else is.
func (t *turn) search(judged map[string]bool) (first string, dead int, more bool) {
	for _, p := range t.places {
		if dead == atOnce {
			return "", dead, true
		}
		lives, known := judged[client(p.id)]
		if known && lives || !known && t.lives(client(p.id)) {
			return p.id, dead, false
		}
		dead++
	}
	return "", dead, false
}

// bury takes the first so many out of the queue, who are dead.
func (t *turn) bury(dead int) {
	if dead > 0 {
		t.places = t.places[dead:]
		t.note(func(r *record) { r.buried = t.clock })
	}
}

// looked is how many places one request looks at to tell who stands next.
const looked = 256

// own is the ticket up to which the waiters of one client stand before everybody else's; 0: none does, or one may come
// back to its place whose client was taken for dead a moment ago.
func (t *turn) own(of string) (ticket int64) {
	if t.record != nil && t.clock-t.record.buried < t.times.Life {
		return 0
	}
	for _, p := range t.places[:min(len(t.places), looked)] {
		if client(p.id) != of {
			break
		}
		ticket = p.ticket
	}
	return ticket
}
