package memstore

import (
	"cmp"
	"slices"

	"github.com/holdfast-go/holdfast/internal/store"
)

// enqueue gives waiters of one client their places: those that have one keep it, and the others stand behind
// everybody, in their order, but for those that had one before. From here on the client lives.
func (f fair) enqueue(asks []store.Ask) (store.EnqueueReply, error) {
	t, of := f.turn(), client(asks[0].ID)
	reply := store.EnqueueReply{Status: store.Done, Lapsed: !t.lives(of)}
	fresh := t.newTicket(t.now)
	for _, ask := range asks {
		ticket := t.ticket(ask.ID)
		if ticket == 0 {
			if ticket = ask.Ticket; ticket == 0 {
				ticket = fresh
				fresh++
			}
			t.put(ask.ID, ticket)
		}
		reply.Tickets = append(reply.Tickets, ticket)
	}
	t.placesEnd = t.afterMs(t.times.Unused)
	t.live(of)
	t.aliveEnd = t.afterMs(t.times.Unused)
	reply.Next = t.own(of)
	return reply, nil
}

// release ends a hold, or an invitation, and invites the next; or it takes a waiter out of the queue. Between the
// release and the invitation nobody can come in. The places of those who were served go first, and with them what one
// of these was given when the hold was gone. Without a queue the record goes with the lock, also if that is gone
// already.
func (f fair) release(id string) store.ReleaseReply {
	t, l := f.turn(), f.lockLocked(f.key)
	reply := store.ReleaseReply{Status: store.Gone}
	if l != nil && l.id == id {
		reply.Status = store.Done
	}
	held := l != nil && (l.id == id || slices.Contains(f.served, l.id))
	if held {
		delete(t.locks, t.key)
	}
	if len(t.places) == 0 {
		if held || l == nil {
			t.forget()
		}
		if held {
			reply.Receivers = t.publishLocked(t.channel)
		}
		return reply
	}
	removed := t.remove(append([]string{id}, f.served...)...)
	if held || removed > 0 {
		reply.Receivers = t.goOn(held)
	}
	return reply
}

// goOn lets the next in, if the lock is free now, and returns how many others were told that it is. A run of
// invitations ends after a while: then, if anybody else listens, nobody in the queue takes the lock for a moment.
func (t *turn) goOn(released bool) (receivers int64) {
	var first string
	var dead int
	if released || t.was.out <= t.clock && t.lockLocked(t.key) == nil {
		first, dead, _ = t.search(nil)
	}
	run, over := cmp.Or(t.was.run, t.clock), false
	if released && (first == "" || t.clock-run >= t.times.Run) {
		receivers, run = t.publishLocked(t.channel), t.clock
		over = first != "" && receivers > 0
	}
	switch {
	case over:
		t.tell(first)
	case first != "":
		t.invite(first)
		t.note(func(r *record) { r.granted, r.run, r.out = first, run, 0 })
	}
	t.bury(dead)
	switch {
	case len(t.places) == 0:
		t.forget()
	case over:
		t.note(func(r *record) { r.granted, r.lone, r.run, r.out = "", "", 0, t.clock+t.times.Pause })
	}
	return receivers
}

// inspect leaves those out whose clients are taken for dead. One who is invited has no levels yet.
func (f fair) inspect() store.InspectReply {
	t, reply, holder := f.turn(), f.plain.inspect(), ""
	if len(reply.Holders) > 0 {
		holder = reply.Holders[0].ID
		if reply.Holders[0].Count == invited {
			reply.Holders[0].Count = 0
		}
	}
	for _, p := range t.places {
		if p.id != holder && t.lives(client(p.id)) {
			reply.Queue = append(reply.Queue, store.Queued{ID: p.id, Since: p.ticket})
		}
	}
	return reply
}
