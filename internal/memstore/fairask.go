package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// asking is one attempt of somebody who was not invited.
type asking struct {
	*turn
	store.Ask
	holder string // "": nobody has the lock, and nobody is invited
	called bool   // the holder is invited
	wait   time.Duration
	out    int64

	gone   string // was invited, and did not come while that stood: its client is as good as dead
	judged map[string]bool
	first  string // whose turn it is, if the lock is free
	dead   int    // how many stand before that one
	has    int64  // its ticket, if it has a place
}

// ask is by somebody who was not invited. The lock is its if that is free, and nobody who lives stands before it.
// Who finds it free at another's turn invites that one.
func (t *turn) ask(l *lock, ask store.Ask) store.AcquireReply {
	a := &asking{turn: t, Ask: ask, out: t.was.out}
	if l != nil {
		a.holder, a.called, a.wait = l.id, l.count == invited, t.leftLocked(l.expires)
	}
	a.missing()
	if a.mine() {
		return a.enter()
	}
	return a.refused()
}

// missing looks whether somebody did not take an invitation up, or did not release the lock before its lease ran out. A
// release says whose turn is next, so if the lock is free, the one that took it last did not release it; one that took
// it before there was a record may have left before its lease ended.
func (a *asking) missing() {
	a.judged = map[string]bool{client(a.ID): true}
	at := a.was.granted
	if at == "" && a.ms >= a.was.ends {
		at = a.was.lone
	}
	_, known := a.alive[client(at)]
	if at == "" || at == a.holder || client(at) == client(a.ID) || a.holder != "" && a.ticket(at) == 0 || !known {
		return
	}
	a.gone, a.judged[client(at)] = at, false
}

// mine reports that it is this one's turn.
func (a *asking) mine() (mine bool) {
	switch {
	case a.holder != "":
		a.out = 0
	case a.out > a.clock:
		a.wait = time.Duration(a.out-a.clock) * time.Millisecond
	case a.Ticket > 0 && !a.recorded && len(a.places) == 0:
		a.wait, a.out = time.Duration(a.times.Restore)*time.Millisecond, a.clock+a.times.Restore
	default:
		var more bool
		a.first, a.dead, more = a.search(a.judged)
		mine = a.first == "" && !more
	}
	a.has = a.ticket(a.ID)
	if a.first != "" {
		mine = client(a.first) == client(a.ID) ||
			a.Ticket > 0 && a.has == 0 && a.Ticket < a.ticket(a.first)
	}
	return mine
}

// clean takes the dead out of the queue, and those who are taken for it.
func (a *asking) clean() {
	a.bury(a.dead)
	if a.gone != "" {
		a.remove(a.gone)
		delete(a.alive, client(a.gone))
	}
}

func (a *asking) enter() store.AcquireReply {
	a.take(a.Ask)
	a.clean()
	a.remove(a.ID)
	reply := store.AcquireReply{Status: store.Held}
	if a.recorded || a.first != "" || a.dead > 0 {
		if a.record != nil {
			a.record.run, a.record.out = 0, 0
		}
		reply.Next = a.entered(a.ID, false, a.Lease)
	}
	reply.Fence, reply.Spare = a.mintLocked(a.key)
	return reply
}

func (a *asking) refused() store.AcquireReply {
	lapsed := !a.lives(client(a.ID))
	if a.first != "" {
		a.invite(a.first)
		a.note(func(r *record) { r.granted, r.run = a.first, a.clock })
		a.holder, a.called, a.wait = a.first, true, time.Duration(a.times.Grant)*time.Millisecond
	}
	if a.first != "" || !a.Once {
		a.clean()
	}
	reply := store.AcquireReply{Status: store.Busy}
	if a.foreign() {
		reply.Also, reply.Recalled = a.channel, a.wantLocked(a.key, a.holder)
	}
	if !a.Once {
		reply.Ticket, reply.Lapsed = a.stay(), lapsed
	}
	reply.PTTL = a.wait
	return reply
}

// foreign reports that the holder does not know of the queue.
func (a *asking) foreign() bool { return a.holder != "" && !a.called && a.holder != a.was.granted }

// stay keeps the waiter's place and its client's life, and returns its ticket. Only the one that is next has to mind
// when the lock gets free; the others are told.
func (a *asking) stay() int64 {
	if a.has == 0 {
		a.has = a.place(a.Ask)
		a.put(a.ID, a.has)
	}
	a.placesEnd = a.afterMs(a.times.Unused)
	a.live(client(a.ID))
	for of, until := range a.alive {
		if until < a.clock {
			delete(a.alive, of)
		}
	}
	a.aliveEnd = a.afterMs(a.times.Unused)
	a.note(func(r *record) {
		r.out = a.out
		if a.foreign() && a.was.granted == "" {
			r.lone, r.ends = a.holder, a.ms+a.wait.Milliseconds()
		}
	})

	next := a.places[0].id
	if next == a.holder {
		next = ""
		if len(a.places) > 1 {
			next = a.places[1].id
		}
	}
	if a.wait > 0 && next != "" && client(next) != client(a.ID) {
		a.wait = max(a.wait, time.Duration(a.times.Life)*time.Millisecond)
	}
	return a.has
}
