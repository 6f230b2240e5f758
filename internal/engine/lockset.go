package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
)

// lockSet is the requests that one waiter makes together. The waiter is in the queue of one of them: the one that was
// busy last. When that becomes free it asks for all at once; if another one is busy by then, it moves to the queue of
// that one. It holds nothing while it waits, so two sets with common members cannot wait for one another, whatever the
// order in which they name them. What they can do is to miss one another's gaps again and again; for that there is
// reserve.
//
// A set is settled like a single request, by the same three rules. An answer that was lost may have taken all of them:
// the id is asked for again, or released until no copy can come. An answer that comes when the caller has left is
// cleaned up after by the goroutine that waited for it. And no request for a set is sent again by the store itself.
//
// What differs is that a copy may have taken some members and not others, though one script takes all or none: each
// member has a lease of its own, and the shortest may be over. The next request takes those that are missing and
// answers "held"; "already" means that nothing was missing. If it is answered "busy", the members that the copy
// took are in nobody's hands; so the whole id is given up, and the set goes on with another one.
type lockSet struct {
	reqs []*Request
	at   int          // the one in whose queue the waiter stands
	busy bool         // the last answer, in an earlier queue or call, was that another has one of them
	held []*hold.Hold // when it is done

	id       string           // by which it asked in an earlier queue; "": it has not asked yet
	attempts request.Attempts // the waiter's, of that queue

	since time.Duration // when the call began

	said  localqueue.Said // what the store said last to the set: that one of them is busy, or why it did not answer
	which int             // the one that was busy
}

// elsewhere says that another member than the one in whose queue the waiter stands is busy.
type elsewhere struct{ at int }

func (elsewhere) Error() string { return "another of the locks is busy" }

// LockAll takes all locks or none, by one script: it waits in the queue of one that is busy, holding
// nothing, and tries all when that one may be free. The levels are in the order of the requests; the
// last one's context carries all. Locks that ctx carries are entered again, when all others are held. The requests have
// neither Keep nor Yields, for a set is released as one.
//
// For example, one set wants a and b, another one b and a, and a plain caller holds b. Both sets ask, are told that
// b is busy, and stand in b's queue, the first before the second; neither holds a. When b is released, the first
// asks for both and has them. The second asks, is told that one of them is busy, and goes to that one's queue.
// Taken one by one, in the order in which each names them, the first could hold a and the second b, and both would
// wait until their leases were over.
func (e *Engine) LockAll(ctx context.Context, reqs []*Request, maxWait time.Duration) ([]*hold.Level, error) {
	return e.lockAll(ctx, reqs, maxWait, false)
}

// TryLockAll makes one attempt. It is repeated only if its reply was lost, and not beyond maxWait. It is refused by a
// hold of this process on any member without a request.
func (e *Engine) TryLockAll(ctx context.Context, reqs []*Request, maxWait time.Duration) ([]*hold.Level, error) {
	return e.lockAll(ctx, reqs, maxWait, true)
}

// lockAll takes all, and begins again if a hold was lost before its owner got to see it. Nothing is held from one
// round to the next.
func (e *Engine) lockAll(
	ctx context.Context, reqs []*Request, maxWait time.Duration, once bool,
) ([]*hold.Level, error) {
	if !e.sender.Begin() {
		return nil, e.refuse(reqs[0].Proto)
	}
	defer e.sender.Done()
	if ctx.Err() != nil {
		return nil, over(ctx, reqs[0].Proto)
	}
	whole := &Request{MaxWait: maxWait, Waits: reqs[0].Waits}
	limited, cancel := whole.limited(ctx)
	defer cancel()
	start := e.clock.Now()
	for {
		g, outer, err := e.carriedOf(ctx, reqs)
		if err != nil {
			return nil, err
		}
		g.since = start
		if len(g.reqs) > 0 {
			if !together(e, g.reqs, func(req *Request) store.Protocol { return req.Proto }) {
				return nil, store.ErrApart
			}
			for i := 0; once && i < len(g.reqs); i++ {
				e.clear(limited, g.reqs[i].Proto)
			}
			if err := e.gather(limited, ctx, g, once); err != nil {
				return nil, err
			}
		}
		levels, again, err := e.attachAll(limited, ctx, g, outer, reqs)
		if !again {
			return levels, err
		}
	}
}

// carriedOf tells the requests that ctx carries a level of from those that have to be held first. A level that has
// ended (its hold was lost, say) makes the whole call fail with that cause: the caller is inside a lock that it
// does not hold any more, and must learn it before it takes others.
func (e *Engine) carriedOf(ctx context.Context, reqs []*Request) (*lockSet, []*hold.Level, error) {
	g, outer := &lockSet{reqs: make([]*Request, 0, len(reqs))}, make([]*hold.Level, len(reqs))
	for i, req := range reqs {
		l := e.carried(ctx, req.Proto)
		if l == nil {
			g.reqs = append(g.reqs, req)
			g.busy = g.busy || req.Busy
			continue
		}
		if err := grantOf(l.Hold()).enterable(l, req); err != nil {
			return nil, nil, err
		}
		outer[i] = l
	}
	return g, outer, nil
}

// newMember is the waiter of a set in the queue that it goes to next.
func (e *Engine) newMember(g *lockSet) *waiter {
	w := e.newWaiter(g.reqs[g.at], g.since, outer{})
	w.lockSet, w.Manner = g, localqueue.Set
	if g.id != "" {
		w.ID, w.attempts = g.id, g.attempts
	}
	return w
}

// gather waits, in one queue after the other, until all are held or the wait is over. In each queue the set is an
// ordinary waiter: it stands behind those that came earlier, and those that come later stand behind it. When it moves,
// it goes to the end of the next queue. With short sections and many callers that could go on for long; after some
// moves it reserves.
//
// It asks by one id in all queues, unless that had to be given up. With one id, what a late copy of an earlier request
// takes is the set's own: the next request finds it, is answered "already" for those members, and takes the rest. With
// an id for each queue it would be in the way of the set's own next request until its lease ended.
func (e *Engine) gather(limited, ctx context.Context, g *lockSet, once bool) error {
	for moves := 1; ; moves++ {
		if !once && moves%reserveAfter == 0 {
			if err := e.reserve(limited, ctx, g); !errors.Is(err, errNeverFree) {
				return err
			}
		}
		w := e.newMember(g)
		var err error
		switch {
		case !once:
			e.table.enter(w, false)
			_, err = e.waitTurn(limited, ctx, w)
		case !e.table.enter(w, true):
			return e.refusedHere(w)
		default:
			_, err = e.try(limited, ctx, w)
		}
		var other elsewhere
		if !errors.As(err, &other) {
			return err
		}
		if once {
			return e.busy(g.reqs[other.at].Proto, nil)
		}
		g.at = other.at
	}
}

// Four moves tell bad luck from a pattern; most sets need one or two. Each queue is stood in for as long as a run
// of turns lasts at most, which is how long the callers in front of it may pass the lock on among themselves.
const (
	reserveAfter = 4                     // moves from queue to queue
	reserveFor   = 50 * time.Millisecond // in each queue
)

var errNeverFree = errors.New("the locks were never all free at the same time")

// reserve gives a waiter that stands for several requests, and that found one or the other of them held by
// this process time and again, the head of all queues at once: callers that pass single locks on among
// themselves would never leave all of them free. It goes through the queues in the order of the keys, so that
// two sets which do that cannot wait for one another, and gives up after a while, because the holder of one lock
// may be waiting behind it for another. Then, and if somebody elsewhere holds a lock, the error is
// errNeverFree.
//
// Why a set needs it: ten goroutines take a, and ten others b, each for a millisecond, one after the other. At any
// moment both are held. A set that wants both comes to the head of a's queue, asks, and is told that b is busy; it
// goes to b's queue, and there it is told that a is. Both queues are fair, and yet it may never find both free.
// With the head of both queues it is the next for either: the holders of this moment are the last that it has to
// wait for.
//
// Waiters of other processes are not held back by it. Between processes a set has the same chance with each release as
// anybody, and is not promised more.
func (e *Engine) reserve(limited, ctx context.Context, g *lockSet) error {
	var heads []*waiter
	defer func() {
		for _, w := range heads {
			w.leave()
		}
	}()
	for i := range g.reqs { // which are in that order
		g.at = i
		w := e.newMember(g)
		heads = append(heads, w)
		e.table.enter(w, false)
		if !e.awaitHead(limited, w) {
			g.busy = true
			return errNeverFree
		}
	}
	last := len(heads) - 1
	w := heads[last]
	heads = heads[:last]
	_, err := e.try(limited, ctx, w)
	var other elsewhere
	switch {
	case errors.As(err, &other):
		g.at = other.at
		return errNeverFree
	case err == nil || limited.Err() != nil || e.sender.Closed():
		return err
	case errors.Is(err, e.cfg.Errors.Busy):
		g.busy = true
		return errNeverFree
	}
	// What passes is waited for as ever.
	if kind := store.FaultOf(err); !isShortfall(err) && (kind == store.FaultTransient || kind == store.FaultAmbiguous) {
		return errNeverFree
	}
	return err
}

// awaitHead waits for a while until w is at the head of its queue. While it waits there the others behind it wait too,
// and so do those in the queues in front of which it stands already: the time is short, and callers that pass the lock
// among themselves are through several turns in it.
func (e *Engine) awaitHead(ctx context.Context, w *waiter) bool {
	timer := time.NewTimer(reserveFor)
	defer timer.Stop()
	for {
		if at, _ := w.look(); at == localqueue.Asking {
			return true
		}
		select {
		case <-w.Changed():
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		case <-e.sender.Closing():
			return false
		}
	}
}

// together reports whether one request can serve all, as far as is known. What is known of a cluster's slots may be out
// of date; then the store refuses with ErrApart, and the caller takes them one by one (package multilock).
func together[T any](e *Engine, all []T, proto func(T) store.Protocol) bool {
	slot := e.store.Slot(proto(all[0]).Key())
	return !slices.ContainsFunc(all, func(one T) bool { return e.store.Slot(proto(one).Key()) != slot })
}

// attachAll makes the levels, each one's context inside the one before. It reports again if a hold was
// lost before its owner got to see it, or a level that was there before was unlocked meanwhile: then none
// is kept.
//
// Members that the caller's context carries already are entered again only when the others are held, so that the wait
// for those keeps no level which would have to be given back. The given context is looked at to tell the caller's
// own end from that of a member's context, inside which the next member's is made.
func (e *Engine) attachAll(
	limited, ctx context.Context, g *lockSet, outer []*hold.Level, reqs []*Request,
) (levels []*hold.Level, again bool, err error) {
	fresh, given := g.held, ctx
	levels = make([]*hold.Level, 0, len(reqs))
	for i, req := range reqs {
		var l *hold.Level
		if from := outer[i]; from != nil {
			l, err = grantOf(from.Hold()).reenter(ctx, from, req)
			again = err != nil && (!from.IsOpen() || given.Err() == nil && ctx.Err() != nil)
		} else {
			var ok bool
			l, ok = attach(ctx, fresh[0], call{Request: req})
			fresh, again = fresh[1:], !ok
		}
		if err != nil || again {
			_ = UnlockAll(levels)
			for _, h := range fresh {
				grantOf(h).discard(h)
			}
			return nil, again, err
		}
		levels = append(levels, l)
		ctx = l
	}
	return levels, false, nil
}

// attemptAll is attempt for a waiter that stands for several requests. Before it asks it looks whether a hold of this
// process is in the way of another member: the store would only say the same a round trip later.
//
// If a member other than the one in whose queue it stands is busy, it must not stay where it is. That member's
// release is told on another channel; here it would wait for a message that has nothing to do with what keeps it
// out.
func (w *waiter) attemptAll(ctx context.Context) (*hold.Hold, time.Duration, error) {
	e := w.engine()
	w.recalled = 0
	if at := e.table.inTheWay(w.lockSet); at >= 0 {
		return nil, 0, elsewhere{at}
	}
	sent := e.askAll(ctx, w)
	if sent.says {
		w.lockSet.said, w.lockSet.which = sent.said, sent.all.Which
	}
	if sent.err != nil {
		if errors.Is(sent.err, store.ErrApart) {
			if store.FaultOf(sent.err) == store.FaultAmbiguous {
				w.attempts.Lost(sent.Receipt)
			}
			return nil, 0, sent.err
		}
		w.unanswered(sent.outcome)
		return nil, 0, sent.err
	}
	w.last = nil
	if sent.all.Status == store.Busy {
		w.recalls(sent.all.Recalled, sent.all.Which)
		w.pollIn = sent.all.Poll
		w.attempts.Refused(sent.Receipt, e.span(w.req))
		w.renounce() // an earlier copy may have taken others, and a set that waits holds nothing
		if sent.all.Which != w.lockSet.at {
			return nil, 0, elsewhere{sent.all.Which}
		}
		w.noteBusy()
		return nil, sent.all.PTTL, nil
	}
	h, err := w.wonAll(sent)
	return h, 0, err
}

// wonAll lists the holds, unless the shortest lease is as good as over. All begin at the same instant, and by the same
// rule as a single hold (see granted). The member in whose queue the waiter stands is won there, which ends its turn to
// ask; the others are added to their keys, where nobody may be waiting.
func (w *waiter) wonAll(sent askedAll) (*hold.Hold, error) {
	e, start := w.engine(), w.attempts.Since(sent.Since) // an earlier copy may have taken some of them
	if sent.all.Status == store.Already {
		start = w.attempts.SinceAny(sent.Since)
	}
	for _, req := range w.lockSet.reqs {
		if e.clock.Now() >= hold.ValidUntil(start, req.Lease) {
			w.attempts.Lost(store.Receipt{Since: start, Late: sent.Late})
			w.renounce()
			return nil, opaque{errStale}
		}
	}
	w.lockSet.held = make([]*hold.Hold, 0, len(w.lockSet.reqs))
	for i, req := range w.lockSet.reqs {
		var h *hold.Hold
		if i == w.lockSet.at {
			h = w.wonOne(sent.all.Fences[i], start)
		} else {
			_, h = e.add(req, w.ID, sent.all.Fences[i], start, w.attempts.Late(), hold.Retention{})
		}
		w.lockSet.held = append(w.lockSet.held, h)
	}
	if e.sender.Closed() {
		for _, h := range w.lockSet.held {
			grantOf(h).disown()
		}
		return nil, store.ErrUnsent
	}
	return w.lockSet.held[w.lockSet.at], nil
}

// wonOne lists the grant of the member in whose queue the waiter stands, and ends its turn to ask.
func (w *waiter) wonOne(fence int64, start time.Duration) *hold.Hold {
	k := w.engine().table.lockAlone(w.req.Proto, w.under.id)
	defer k.unlock()
	g, h := w.engine().newGrantLocked(k, w.req, w.ID, fence, start, w.attempts.Late())
	k.winLocked(w, g)
	return h
}

// inTheWay is a member that a hold of this process is in the way of; -1 if there is none. To ask the store would be
// pointless then. Waiters of other members are overtaken if all members are free: the set has waited in one queue, and
// to stand in all of them would be to wait for one lock while another one is kept free.
func (t *table) inTheWay(g *lockSet) int {
	for i, req := range g.reqs {
		if i != g.at && t.held(req.Proto) {
			return i
		}
	}
	return -1
}

// askedAll is one sending of the script for a set and what came of it.
type askedAll struct {
	outcome
	all  store.AcquireAllReply
	said localqueue.Said // of the member that is busy, or of all
	says bool
}

// askAll sends the script that takes all. Like ask, it cleans up after a reply that nobody waits for: each member is
// released by itself, since the members may be served by several nodes by then.
func (e *Engine) askAll(ctx context.Context, w *waiter) askedAll {
	reqs, id, before := w.lockSet.reqs, w.ID, w.attempts
	send := func(ctx context.Context) (askedAll, error) {
		sent := e.sendAcquireAll(ctx, reqs, id)
		return sent, sent.err
	}
	sent, err := request.Call(e.sender, ctx, send, func(sent askedAll, err error) {
		e.sayLate(reqs, err)
		after := before.After(sent.Receipt, err)
		if after.InDoubt() || sent.all.Status == store.Held || sent.all.Status == store.Already {
			for _, req := range reqs {
				e.disown(req, id, after.Late(), 0)
			}
		}
	})
	sent.err = err
	return sent
}

// sendAcquireAll sends one request. Its time limit is that of the shortest lease, as one lease is over when the
// hold of the set is of no use any more.
func (e *Engine) sendAcquireAll(ctx context.Context, reqs []*Request, id string) (sent askedAll) {
	limit := e.sender.Limit(reqs[0].Lease)
	members := make([]store.Member, len(reqs))
	for i, req := range reqs {
		members[i] = store.Member{Proto: req.Proto, Lease: req.Lease}
		limit = min(limit, e.sender.Limit(req.Lease))
	}
	began := e.clock.Now()
	if sent.err = e.store.Ready(ctx, limit); sent.err == nil {
		sending, err := e.sender.Start(crash.AcquireAll, reqs[0].Proto, limit)
		if err == nil {
			sent.all, sent.Receipt, err = e.store.AcquireAll(ctx, members, id, sending.Timing)
		}
		sent.Receipt, sent.err = sending.End(ctx, sent.Receipt, err)
	}
	e.sayAll(reqs, &sent, e.failure(ctx, sent.err, e.clock.Now()-began, limit))
	return sent
}

// sayAll notes what came of a request for a set: a failure is one of each member, and of an answer the busy member is
// known. That a set must be taken apart says nothing.
func (e *Engine) sayAll(reqs []*Request, sent *askedAll, failure error) {
	at := e.clock.Now()
	switch {
	case errors.Is(failure, store.ErrApart):
	case failure != nil:
		sent.said, sent.says = localqueue.Said{At: at, Err: failure}, true
		for _, req := range reqs {
			e.table.say(req.Proto, sent.said)
		}
	case sent.err == nil && sent.all.Status == store.Busy:
		sent.said, sent.says = localqueue.Said{At: at, Spoke: true}, true
		e.table.say(reqs[sent.all.Which].Proto, sent.said)
	}
}
