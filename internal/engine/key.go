package engine

import (
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Key is what this process knows of one name, as far as kinds of one layout go, without asking the store: the grants
// that it has, the calls that wait, and what it owes to other processes. It exists while somebody holds or waits, and
// for some milliseconds longer where something is owed.
//
// One mutex guards all of it: the queue, the waiters' part of it, the grants that are listed here, with their Holds and
// Levels. Every method is one step: it takes the mutex, decides, and lets go. Between two steps anything may happen, so
// what a step returns is true of the past. That is enough because what a step decides stays right: a waiter that is
// told to ask keeps its turn until it wins, steps back or leaves; a listed grant stays until it is over, and what ended
// it takes it off. Where two steps have to be one, they are one method (pass chooses the next waiter, begins its Hold
// and wakes it). What to do with a queue is decided in package localqueue, and with a grant in package hold.
//
// A step that leaves nothing behind removes the Key from the table, and marks it dead. A waiter in the queue, a
// registrar at work and a listed grant keep it alive. Others may come with the pointer to a dead Key: they find it
// empty, and change nothing that anybody sees.
//
// A held lock that nobody waits for costs a grant, its Hold and level, and one Key, and that is most of what a process
// with a hundred thousand locks consists of. Hence what is a pointer here: a map and a queue cost more than all of the
// rest.
type Key struct {
	table  *table       // constant
	name   string       // constant
	layout store.Layout // constant

	dead  bool       // it is not in the table any more
	mu    sync.Mutex // guards dead, and what is below
	grant *Grant     // the first; nil: there is none
	queue *keyQueue  // what only matters while somebody waits, or several hold
}

// keyQueue is what is known of a key besides one grant.
type keyQueue struct {
	localqueue.Queue                   // waiters, and the modes of all grants
	others           map[string]*Grant // the other grants, of a kind of which several live: thousands, if permits
	newest           *Grant            // that readers may join; it may be too old for that by now
	deserted         time.Duration     // when nobody held or waited any more; see deserted
	unset            bool              // it was logged that callers wait for what was never set
}

// queueLocked is the queue, which is made if there is none: a key without one has one grant at most. The queue counts
// the grants of each mode, to know which waiter they are in the way of; a new queue counts the grant that was there
// before it.
func (k *Key) queueLocked() *localqueue.Queue {
	if k.queue == nil {
		k.queue = &keyQueue{newest: k.newestLocked()}
		if k.grant != nil {
			k.queue.Hold(k.grant.proto.Mode())
		}
	}
	return &k.queue.Queue
}

// unlock ends a step: it drops what nobody needs, everything if nobody holds or waits, and the queue if there is one
// grant and the queue has nothing to remember (a run, a debt, a gate). So a process that takes a million names once
// keeps nothing of them.
//
// What a key is worth keeping for, from the least to the most:
//
//	one grant, nobody waits           the Key with that grant
//	one grant, and a run or a debt    the queue too, for as long as it lasts
//	several grants, or waiters        the queue, and a map of the grants from the second one on
//	a debt to others, for some ms     the queue
//	none of these                     nothing
func (k *Key) unlock() {
	switch {
	case k.dead || k.queue != nil && !k.queue.Empty():
	case k.grant != nil:
		if k.queue != nil && k.queue.Idle() {
			k.dropQueueLocked()
		}
	case k.queue != nil && k.queue.Remembers(k.table.engine.clock.Now()): // for twice the KeptPause at most
		k.queue.deserted = k.table.engine.clock.Now()
		k.table.deserted.add(desertion{k, k.queue.deserted, k.queue.RememberedUntil()})
	default:
		k.removeLocked()
	}
	k.mu.Unlock()
}

// removeLocked takes the key, which has nothing any more, off the table.
func (k *Key) removeLocked() {
	k.dead, k.queue = true, nil
	k.table.remove(k)
}

// removeDeserted removes the key if nobody has come to it since an instant at which it was deserted.
func (k *Key) removeDeserted(at time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.dead && k.grant == nil && k.queue != nil && k.queue.Empty() && k.queue.deserted == at {
		k.removeLocked()
	}
}

// dropQueueLocked has the queue forget all but the grants, and removes it if there are not several of them: with one
// grant a later queue is told of that one when it is made.
func (k *Key) dropQueueLocked() {
	if k.queue.others != nil {
		k.queue.Forget()
	} else {
		k.queue = nil
	}
}

// listLocked lists a grant. The first of a key is in the Key itself, and needs no queue; with a second one the queue
// has to know the modes of both.
func (k *Key) listLocked(g *Grant) {
	if k.grant != nil {
		k.queueLocked()
		if k.queue.others == nil {
			k.queue.others = make(map[string]*Grant)
		}
		k.queue.others[g.id] = g
	} else {
		k.grant = g
	}
	if k.queue == nil {
		return
	}
	k.sayLocked(localqueue.Said{Spoke: true})
	k.queue.Hold(g.proto.Mode())
	if g.Shared() {
		k.queue.newest = g
	}
}

// newestLocked is the newest grant that readers may join; it may be too old for that by now. Without a queue it is the
// one grant that there is.
func (k *Key) newestLocked() *Grant {
	switch {
	case k.queue != nil:
		return k.queue.newest
	case k.grant != nil && k.grant.Shared():
		return k.grant
	}
	return nil
}

// othersLocked are the grants besides the first.
func (k *Key) othersLocked() map[string]*Grant {
	if k.queue == nil {
		return nil
	}
	return k.queue.others
}

// unlistLocked takes a grant out, if it is there. One of several moves up to the place in the Key, whichever: no order
// is kept among grants that stand beside one another. The newest grant that readers may join is forgotten with it; the
// next reader that asks makes another one the newest.
func (k *Key) unlistLocked(g *Grant) {
	if !k.listsLocked(g) {
		return
	}
	if g.kept != nil {
		k.table.engine.keeper.remove(g)
		k.table.engine.wheel.Cancel(&g.kept.timer)
	}
	others := k.othersLocked()
	if k.grant != g {
		delete(others, g.id)
	} else {
		k.grant = nil
		for id, next := range others {
			k.grant = next
			delete(others, id)
			break
		}
	}
	if k.queue == nil {
		return
	}
	k.queue.Unhold(g.proto.Mode())
	if len(others) == 0 {
		k.queue.others = nil
	}
	if k.queue.newest == g {
		k.queue.newest = nil
	}
}

// listsLocked reports that g is listed.
func (k *Key) listsLocked(g *Grant) bool { return k.grant == g || k.othersLocked()[g.id] == g }

// grantsLocked are those of this process.
func (k *Key) grantsLocked() iter.Seq[*Grant] {
	return func(yield func(*Grant) bool) {
		if k.grant == nil || !yield(k.grant) {
			return
		}
		for _, g := range k.othersLocked() {
			if !yield(g) {
				return
			}
		}
	}
}

// conflict reports that the store does not let two holds stand beside one another. Of a reader and a writer, the reader
// says so: the writer asks all the same, to be seen waiting.
func conflict(a, b store.Rules) bool { return a.Excludes(b.Mode()) || b.Excludes(a.Mode()) }

// besideLocked are the grants that a request excludes, but for that under which it was asked for, and some others.
func (k *Key) besideLocked(p store.Protocol, under string, others []*Grant) (beside []*Grant) {
	if k.queue != nil && !p.Excludes(p.Mode()) && !k.queue.Excluded(p) { // there may be thousands of permits
		return nil
	}
	for g := range k.grantsLocked() {
		if g.id != under && conflict(p, g.proto) && !slices.Contains(others, g) {
			beside = append(beside, g)
		}
	}
	return beside
}

// waitersLocked are those in the queue, in their order.
func (k *Key) waitersLocked() iter.Seq[*localqueue.Waiter] {
	if k.queue == nil {
		return func(func(*localqueue.Waiter) bool) {}
	}
	return k.queue.Waiters()
}

// add lists a grant that came without a waiter. Its release retains the lock as the grant's did that it comes from.
func (e *Engine) add(
	req *Request, id string, fence int64, start time.Duration, doubt store.Late, retain hold.Retention,
) (*Grant, *hold.Hold) {
	k := e.table.lockAlone(req.Proto, "")
	defer k.unlock()
	g, h := e.newGrantLocked(k, req, id, fence, start, doubt)
	if retain.Until > 0 {
		g.RetainLocked(retain)
	}
	k.listLocked(g)
	return g, h
}

// win ends w's turn to ask, which came to nothing that is held.
func (k *Key) win(w *waiter) {
	k.mu.Lock()
	defer k.unlock()
	k.winLocked(w, nil)
}

// winLocked ends w's turn to ask, and lists the grant that it came to; nil: it holds nothing.
func (k *Key) winLocked(w *waiter, g *Grant) {
	if g != nil {
		k.listLocked(g)
	} else {
		k.sayLocked(localqueue.Said{Spoke: true})
	}
	q := k.queueLocked()
	q.Win(&w.Waiter)
	w.awaited = q.Awaited(&w.Waiter)
}

// drop takes a grant out that is over, and lets the next in the queue ask the store. It may be called twice for one
// grant, and only the first call does something: a grant that is not listed is in nobody's way.
func (k *Key) drop(g *Grant) {
	k.mu.Lock()
	defer k.unlock()
	k.dropLocked(g, 0)
}

// released drops a grant whose release the store has confirmed, after its last Hold. The first in the queue stood
// behind it: a try that comes before that one has asked must not overtake it. If the release ended a run of turns and
// others heard of it, the process owes each of them a turn, also if nobody of it waits: it may come back at once. Where
// nobody has heard of it, a key that nobody waits for needs no queue.
//
// Of a release that the store has not confirmed nobody knows whether the first in the queue is next anywhere: then drop
// is all that is done.
func (k *Key) released(g *Grant, last time.Duration, ends runEnd) {
	k.mu.Lock()
	defer k.unlock()
	if g.kept != nil { // its run is as long as it was kept
		last, ends = g.since, k.wantedByLocked(g, ends)
	}
	owed := 0
	if k.queue != nil {
		k.queue.RefuseFirst(g.proto.Mode())
	}
	if ends.over && (k.queue != nil || !ends.unheard()) {
		owed = k.endRunLocked(last, ends)
	}
	k.dropLocked(g, owed)
	switch {
	case ends.asked: // it is on its way
	case owed > 0 && g.kept != nil, owed == 0 && k.hadLongLocked(g):
		k.queue.LeaveFor(keptPause(), k.table.engine.clock.Now())
	}
}

// keptPause is random, so that no client polls in step with it: KeptPause in the mean.
func keptPause() time.Duration { return localqueue.KeptPause*3/4 + rand.N(localqueue.KeptPause/2) }

// hadLongLocked reports that the process has had the key for a second now by grants that were asked for with Keep, of
// which g was the last. Clients that poll, and cannot say that they wait, may have found it taken all this time: it was
// free for the moments between a release and the next request only.
func (k *Key) hadLongLocked(g *Grant) bool {
	return (g.Keep() > 0 || g.unkept) && k.queueLocked().HadFor(g.since, k.table.engine.clock.Now()) >= KeepMost
}

// endRunLocked notes the end of a run, whose last turn began at an instant, and returns to how many other processes
// this one owes a turn.
func (k *Key) endRunLocked(last time.Duration, ends runEnd) (owed int) {
	q, now := k.queueLocked(), k.table.engine.clock.Now()
	q.RunEnds(localqueue.Heard(ends.heard))
	if ends.others == 0 || q.Empty() && ends.unheard() {
		return 0
	}
	q.Remember(now)
	if ends.asked {
		q.EndSeries()
	} else if q.GoesOn(last, now) {
		return 0
	}
	return ends.others
}

// dropLocked takes a grant out, and lets those ask that it was in the way of. Others is to how many other processes
// this one owes a turn.
func (k *Key) dropLocked(g *Grant, others int) {
	k.unlistLocked(g)
	switch now := k.table.engine.clock.Now(); {
	case k.queue == nil:
	case g.portion != nil:
		k.queue.ReleasedPortion(others, now)
	default:
		k.queue.Released(others, now)
	}
}
