package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// queued are the rules of a lock whose waiters have a queue in the store.
type queued interface{ Queue() store.Queue }

// fair is the plain lock with a queue beside it, as the scripts fair_acquire, fair_enqueue and fair_release have it.
// What is in the queue decides who is invited, and never who holds.
type fair struct {
	plain
	times  store.QueueTimes
	to     string   // channel of a client, but for the client
	served []string // waiters that the hold was passed on to
}

// invited is how many levels stand at the lock of one that was granted it and has not claimed it yet.
const invited = 1_000_000_000

func newFair(at place, q store.Queue) fair {
	at.channel = q.Strangers
	return fair{plain: plain{at}, times: q.Times, to: q.Client}
}

// serving is of a hold that was passed on.
func (f fair) serving(ids []string) fair {
	f.served = ids
	return f
}

func (f fair) afterMs(ms int64) time.Time { return f.afterLocked(time.Duration(ms) * time.Millisecond) }

// invite grants the lock to somebody, who has to come for it in time, and is told.
func (t *turn) invite(id string) {
	t.locks[t.key] = &lock{id: id, count: invited, expires: t.afterMs(t.times.Grant)}
	t.tell(id)
}

func (t *turn) tell(id string) { t.publishLocked(t.to + client(id)) }

// acquire takes the lock if it is the waiter's turn, and else keeps its place, and its client alive.
func (f fair) acquire(ask timedAsk) (store.AcquireReply, error) {
	l := f.lockLocked(f.key)
	if l != nil && l.id == ask.ID && l.count != invited {
		return store.AcquireReply{Status: store.Already, Fence: f.fences[f.key], PTTL: f.leftLocked(l.expires)}, nil
	}
	t := f.turn()
	if l != nil && l.count == invited && client(l.id) == client(ask.ID) {
		return t.claim(l.id, ask.Ask), nil
	}
	return t.ask(l, ask.Ask), nil
}

// claim is by a waiter of the client that was invited. Which waiter that was makes no difference, for the order inside
// a process is the process's; it gets the ticket of the one that comes.
func (t *turn) claim(holder string, ask store.Ask) store.AcquireReply {
	t.take(ask)
	swapped := holder != ask.ID
	if swapped && t.ticket(holder) != 0 {
		t.put(holder, t.place(ask))
	}
	t.remove(ask.ID)
	next := t.entered(ask.ID, t.was.run != 0, ask.Lease)
	reply := store.AcquireReply{Status: store.Held, Next: next, Swapped: swapped}
	reply.Fence, reply.Spare = t.mintLocked(t.key)
	return reply
}

// place is the ticket that a waiter has, or had, or a new one.
func (t *turn) place(ask store.Ask) int64 {
	if has := t.ticket(ask.ID); has != 0 {
		return has
	}
	if ask.Ticket > 0 {
		return ask.Ticket
	}
	return t.newTicket(t.now)
}

// entered notes that the lock is somebody's from here on, and returns up to which ticket its client's waiters stand
// next. The client lives from now on, but only if it did, or it would not learn that its waiters were given up. Without
// a queue nothing stays but how long the run is.
func (t *turn) entered(id string, run bool, lease time.Duration) (next int64) {
	granted := func(r *record) { r.granted = id }
	switch {
	case len(t.places) > 0:
		t.note(granted)
		if t.lives(client(id)) {
			t.live(client(id))
		}
		return t.own(client(id))
	case run:
		clear(t.alive)
		t.note(granted)
		t.recordEnd = t.afterLocked(lease)
	default:
		t.forget()
	}
	return 0
}
