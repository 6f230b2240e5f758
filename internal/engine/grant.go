package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Grant is what the store gave this client for a name: what package hold decides about, with what the store knows of
// it.
type Grant struct {
	hold.Grant
	key   *Key           // that lists it until it is over; constant
	proto store.Protocol // constant
	id    string         // of one client and one grant, and never used again; constant
	since time.Duration  // when the call that brought it was first sent; constant

	// doubt is until when a late copy of the acquisition may be carried out. It is the releaser's.
	doubt store.Late

	// Guarded by the mutex of its Key, as what is embedded.
	fence   int64               // the token of the newest Hold
	portion *localqueue.Portion // what it is one of; nil: of nothing
	spare   int16               // how many numbers right above fence are for those to whom it is passed
	suspect bool                // a message said that somebody released the lock (see suspect), or broke it
	doubts  int32               // hints that the question under way answers, and that came after it; 0: none is
	unkept  bool                // it was asked for with Keep, and is not kept because others want the name; constant
	kept    *kept               // what one has that may be idle; nil: it may not (see keeper.go)
}

func (g *Grant) engine() *Engine { return g.key.table.engine }

// grantOf is the grant that a Hold lives on.
func grantOf(h *hold.Hold) *Grant { return leased(&h.Grant().Lease) }

// leased is the grant that a lease of the watchdog, and so a grant of package hold, is a part of.
func leased(l *watchdog.Lease) *Grant { return l.Of.(*Grant) }

// host is what the grants of e need of it. The functions are called by the wheel's goroutine, mostly, and so return
// at once: what takes time is left to the ender, or to a goroutine that the sender joins.
func (e *Engine) host() hold.Host {
	return hold.Host{
		Clock: e.clock, Wheel: e.wheel, Watchdog: e.watchdog,
		Released: e.cfg.Errors.Released,
		Lost: func(g *hold.Grant, reason hold.Reason, cause error) error {
			return e.lostError(leased(&g.Lease).proto, reason, cause)
		},
		Expire: func(g *hold.Grant, reason hold.Reason, ended hold.Ended) {
			e.ender.Add(func() { leased(&g.Lease).lost(reason, ended, nil) })
		},
		Free:     func(last *hold.Hold) { grantOf(last).free(last) },
		Soon:     e.ender.Add,
		HoldLost: e.events.holdLost,
		Detach:   e.Detach,
		Count:    func(g *hold.Grant, from, to int32) { leased(&g.Lease).count(from, to) },
	}
}

// portionOf is what a hold that the store granted is a portion of, with a run that begins.
func portionOf(p store.Protocol) *localqueue.Portion {
	if n := p.Traits().Portion; n > 0 {
		return &localqueue.Portion{Size: n}
	}
	return nil
}

// newGrantLocked makes the local side of what the store granted for a key, with its first Hold. Start is when the
// granting call was first sent. The Hold has no level yet: attach adds it.
//
// The caller lists it in the same step: the watchdog knows it from now on, and may find at once that it is over. What
// ends it then finds it listed, and takes it off.
func (e *Engine) newGrantLocked(
	k *Key, req *Request, id string, fence int64, start time.Duration, doubt store.Late,
) (*Grant, *hold.Hold) {
	g := &Grant{
		key: k, proto: req.Proto, id: id, since: start, fence: fence,
		doubt: doubt, portion: portionOf(req.Proto), unkept: req.Unkept,
	}
	g.Lease.Of = g
	e.listenSoon()
	if req.Keep > 0 || req.Yields {
		g.kept = &kept{}
		g.kept.answered.Store(int64(start))
	}
	return g, g.InitLocked(&e.holds, &k.mu, start, req.Terms, fence)
}

// attach makes the first level of a Hold, with its context. It reports false if the Hold was lost
// before its owner got to see it.
//
// Between the grant and attach nobody could unlock the Hold: its caller has not returned yet. If the caller never comes
// (its context ended while the grant was passed to it), the one who finds that out discards the Hold.
func attach(ctx context.Context, h *hold.Hold, c call) (*hold.Level, bool) {
	g := grantOf(h)
	g.expireIfOver()
	if c.observed != nil && !h.Live() {
		return nil, false
	}
	if c.Grace > 0 && g.Lease.ValidUntil()-g.engine().clock.Now() <= c.Grace { // its context would end at once
		g.discard(h)
		return nil, false
	}
	return begin(ctx, h, c)
}

// begin is attach for a Hold whose grant was found valid a moment ago.
func begin(ctx context.Context, h *hold.Hold, c call) (*hold.Level, bool) {
	g := grantOf(h)
	ctx, owner := c.observed.Holds(ctx, g.id, h.Fence, h.Start())
	l, ok := h.Attach(ctx, &c.Want, owner)
	if ok {
		g.retainFor(c.MinHold)
	} else {
		Ended(owner, overCause(h)) // it was lost while the observer was told of it
	}
	return l, ok
}

// withinLocked gives a hold that stands inside another the outer one's token, though the outer one may be over by now.
// What the store told is the end of the range that the outer one reserved, of which it may have a lower number.
//
// For example, a writer's turn has token 1,005 of a range that ends at 1,999. It reads inside its hold, and the
// answer to that request names 1,999, the newest that the store knows. Had the read that token, storage that it writes
// to would refuse the writer's own next write with 1,005, and those of the writers whose turns follow.
//
// The store says whether it stands there. Where the outer hold was over before the store came to the request, others
// may have written meanwhile, whose tokens are above that of the outer one: the hold has the newest then.
func (g *Grant) withinLocked(h *hold.Hold, o outer) { g.fence, h.Fence = o.fence, o.fence }

// expireIfOver ends a grant that is not valid any more, should the watchdog not have come to it yet.
func (g *Grant) expireIfOver() {
	if !g.Valid() {
		g.lose(hold.Expired, nil)
	}
}

// carried returns the innermost open level of the lock that ctx carries, or one that was lost and not
// unlocked, or nil.
func (e *Engine) carried(ctx context.Context, p store.Protocol) *hold.Level {
	for l := range hold.Levels(ctx, e.grantsOf(p)) {
		return l
	}
	return nil
}

// grantsOf tells the grants of p's side of its lock from others.
func (e *Engine) grantsOf(p store.Protocol) func(*hold.Grant) bool {
	return func(of *hold.Grant) bool {
		g := leased(&of.Lease)
		return e.isSide(g, p) && g.proto.Mode() == p.Mode()
	}
}

// isSide reports whether g is a grant of p's lock, on any side of it.
func (e *Engine) isSide(g *Grant, p store.Protocol) bool {
	return g.engine() == e && g.proto.Key() == p.Key() && g.proto.Traits().Layout == p.Traits().Layout
}

// reenter adds one level to a Hold that ctx carries. The grant keeps its lease, whatever the request says of one, and
// nothing is sent (see package hold).
func (g *Grant) reenter(ctx context.Context, from *hold.Level, req *Request) (*hold.Level, error) {
	if err := g.enterable(from, req); err != nil {
		return nil, err
	}
	l := from.Hold().Nest(ctx, from, req.MaxHold, g.proto.Traits().Counts)
	if l == nil { // it ended since
		return nil, cmp.Or(g.standing(from), g.notHeld())
	}
	g.retainFor(req.MinHold)
	return l, nil
}

// enterable reports why a request cannot enter a level that ctx carries. A loss counts first, since the caller is to
// learn of it.
func (g *Grant) enterable(from *hold.Level, req *Request) error {
	if err := g.standing(from); err != nil {
		return err
	}
	if req.Reentry == Refused {
		return g.engine().cfg.Errors.Reentry(g.proto, from.Place())
	}
	return nil
}

// standing reports why a level that ctx carries cannot be entered again. It is asked first by everything that is done
// inside a Hold. A process that stood still for longer than the lease may come here before its wheel has ended the
// contexts; so validity is compared with the clock, and a grant that is over is ended here and now.
func (g *Grant) standing(from *hold.Level) error {
	g.expireIfOver()
	err := from.Standing()
	if err == g.engine().cfg.Errors.Released {
		return g.notHeld()
	}
	return err
}

// holding is the innermost open level that ctx carries of a lock, with its grant, if it is not lost. A level that was
// taken together with others, and given back because one of those was lost or its client closed, is answered with that.
func (e *Engine) holding(ctx context.Context, p store.Protocol) (*hold.Level, *Grant, error) {
	l := e.carried(ctx, p)
	if l == nil {
		return nil, nil, cmp.Or(hold.GivenBack(ctx, e.grantsOf(p)), e.notHeld(p))
	}
	g := grantOf(l.Hold())
	return l, g, g.standing(l)
}

// overCause is why a Hold ended.
func overCause(h *hold.Hold) error {
	if err := h.Err(); err != nil {
		return err
	}
	return grantOf(h).notHeld()
}

// count has a step sent by a goroutine of its own. That is refused when Close is at work, which then ends the hold.
func (g *Grant) count(from, to int32) {
	g.engine().sender.Spawn(func() { g.sendCount(from, to) })
}

// sendCount tells the store how many levels there are, once. The request does no harm when it is late: it changes a
// count and nothing else, where the hold still stands with the count that the step starts from (see package hold).
// Without an answer it is not known what stands, and the hold asks again, after a third of a lease at the latest.
func (g *Grant) sendCount(from, to int32) {
	e := g.engine()
	var stands int64
	err := request.Exchange(crash.Count, func() (err error) {
		within := e.sender.Within(background, e.sender.Limit(e.cfg.Lease))
		stands, err = g.proto.Levels(within, g.id, int64(from), int64(to))
		return err
	})
	switch store.FaultOf(err) {
	case store.FaultNone, store.FaultConflict:
		g.Counted(int32(stands))
		if stands == 0 {
			g.lose(hold.Gone, behindGone(err)) // unless somebody released or exported it: then it is not live
		}
	case store.FaultDefinite:
		g.Counted(to)
	default:
		g.CountUnknown(e.cfg.Lease / 3)
	}
}

var errHeldOver = errors.New("the hold has ended here")

// renew is the watchdog's way to the store. Holds that ended meanwhile are left out.
//
// A hold may also end, or pass to its next turn, while its renewal is under way. An answer for a lease that was stopped
// is dropped by the watchdog. A renewal that reaches the store after the release finds no such id and does nothing: it
// prolongs and never creates. A renewal that comes when the grant has passed to the next turn prolongs that
// turn's lease, under the same id, which is what that turn's own renewal would do.
//
// All renewals of one call are sent to one node, in one round trip. If that fails as a whole, each hold is told the
// same error and is tried again while it is valid: with a lease of 30 s the first renewal is due after 10 s, and a
// failed one is repeated every 1.5 s or sooner until validity ends.
func (e *Engine) renew(
	ctx context.Context, _ string, due []*watchdog.Lease, results []watchdog.Result,
) {
	sent := e.clock.Now()
	all, at := make([]store.Renewal, 0, len(due)), make([]int, 0, len(due))
	for i, l := range due {
		g := leased(l)
		ttl := g.RenewTTL()
		if ttl <= 0 {
			results[i] = watchdog.Result{Err: errHeldOver}
			continue
		}
		all, at = append(all, store.Renewal{Proto: g.proto, ID: g.id, TTL: ttl}), append(at, i)
	}
	if len(all) == 0 { // no store need know what to do with no renewal
		return
	}
	limit, _ := ctx.Deadline()
	ctx = e.sender.Within(background, time.Until(limit)) // so that a connection that has to be made has its own time
	lost := request.Exchange(crash.Renew, func() error {
		e.store.Renew(ctx, all)
		return nil
	})
	for i, one := range all {
		if err := cmp.Or(lost, one.Err); err != nil {
			results[at[i]] = watchdog.Result{Err: ours(err)}
			continue
		}
		results[at[i]] = watchdog.Result{Lease: one.TTL}
		if kept := leased(due[at[i]]).kept; kept != nil {
			kept.answered.Store(int64(sent))
		}
	}
	e.noteRenewals(sent, due, results)
}

// noteRenewals notes how many holds of a batch could be renewed. That a hold is gone is an answer.
func (e *Engine) noteRenewals(sent time.Duration, due []*watchdog.Lease, results []watchdog.Result) {
	confirmed, failed, sample := 0, 0, 0
	for i, r := range results {
		switch {
		case errors.Is(r.Err, errHeldOver):
		case r.Err == nil, isGone(r.Err):
			confirmed++
		default:
			failed, sample = failed+1, i
		}
	}
	if confirmed+failed == 0 {
		return
	}
	p := leased(due[sample]).proto
	ev := request.Event{Of: p, Node: e.node(p.Key()), Sent: sent, Err: results[sample].Err}
	e.sender.Renewed(ev, confirmed, failed)
}

// messageLag is how much later than the answer to a request a message may come that the store sent before it, besides
// a round trip.
const messageLag = 20 * time.Millisecond

// heard is told of a message on the channel of a key.
//
// An exclusive holder hears of no release: nobody else has anything to release, and this process publishes its own
// release after its hold has ended. If a message comes all the same, another client has held the lock, or has broken
// it. It costs little to be sure: the hold is renewed at once, which tells its owner if it is gone, and it is
// not passed on to others of this process before the store was asked. It is not proof: anybody may publish.
//
// For example, an operator deletes the key of a lock that A holds, and B, which was waiting, takes it and releases it.
// A's next renewal may be ten seconds away. But if others of A's process wait, it listens on the channel, and hears B's
// release: nobody but A had anything to release. So A is renewed now, is told "not there", and its context ends
// within a round trip and not after a third of a lease.
//
// Nothing is sent and nobody listens for that. It is heard while the process is subscribed because others of it
// waited, as most are to whom a hold could be passed on.
func (e *Engine) heard(key string) {
	for layout := range store.Layouts {
		if g := e.table.suspect(key, layout); g != nil {
			e.doubt(g)
		}
	}
}

// suspect notes that the grant of a key may be gone. It returns the grant, if that was not known.
//
// Messages come by another connection than answers. So a message that comes soon after the lock was granted is about
// the release before.
func (t *table) suspect(key string, layout store.Layout) *Grant {
	k := t.peekAt(key, layout)
	if k == nil {
		return nil
	}
	defer k.mu.Unlock()
	if k.grant == nil || k.grant.suspect {
		return nil
	}
	g, lag := k.grant, messageLag
	if k.queue != nil {
		lag += k.queue.Trip()
	}
	if !g.proto.Traits().Passes || !g.proto.Excludes(g.proto.Mode()) || t.engine.clock.Now()-g.since < lag {
		return nil
	}
	g.suspect = true
	return g
}

// expire is called by the watchdog, which will not look after the grant any more.
//
// Who may find that a grant is lost: the watchdog, whose timer fires shortly before validity ends, or to whom a renewal
// says "not there"; a count that finds no such hold; an unlock that comes too late; a caller that enters the
// hold again and looks at the clock; Break, in this process; and MaxHold. They may come together. Package hold decides
// which of them ends it, and only that one does what is here.
func (g *Grant) expire(cause error) {
	reason := hold.Expired
	if isGone(cause) {
		reason, cause = hold.Gone, behindGone(cause)
	}
	g.loseSoon(reason, cause)
}

// lose ends the grant without an unlock: its contexts end with the reason, the next in the queue may try, and, unless
// the store said itself that it is gone, it is released in the store. If the grant had ended before, what still lives
// of its contexts ends: for example two goroutines break the same lock, and neither may ask the store to release it
// before that. Between two Holds it ends the grant and nothing else.
func (g *Grant) lose(reason hold.Reason, cause error) {
	if rest := g.losing(reason, cause); rest != nil {
		rest()
		return
	}
	g.Left().Contexts()
}

// loseSoon is lose for a goroutine that others wait for: the grant is over at once, the rest follows.
func (g *Grant) loseSoon(reason hold.Reason, cause error) {
	if rest := g.losing(reason, cause); rest != nil {
		g.engine().ender.Add(rest)
	}
}

// losing makes the grant be over and returns what is left to do then; nil if it had ended before.
//
// What is left is done in this order. The watchdog forgets the grant. The contexts end: from then on no caller
// thinks that it holds. Only then is the store asked to release what may be left there, since another client is granted
// the lock as soon as that is done. Then the grant leaves the table, so that the next of this process may ask, and
// at last observers are told. If the grant is not taken off before, callers of this process wait a little longer
// than they must; taken off too early, they could be granted the lock while the old context still goes on.
//
// An owner that unlocks before that has ended its context itself, and takes the grant off (part): its own TryLock that
// follows would otherwise be told that another has the lock.
func (g *Grant) losing(reason hold.Reason, cause error) (rest func()) {
	if g.Over() { // which saves making the error
		return nil
	}
	if reason == hold.Gone && !g.Valid() { // the store may say so before the watchdog has
		reason = hold.Expired
	}
	return g.ending(reason, g.engine().lostError(g.proto, reason, cause))
}

// ending is losing with the error of the loss.
func (g *Grant) ending(reason hold.Reason, err error) (rest func()) {
	ended, ok := g.End(hold.Lost, err)
	if !ok {
		return nil
	}
	return func() { g.lost(reason, ended, nil) }
}

// lost does what is left to do for a grant that was lost. The unlock that found the loss tells its own observer at
// once, as any unlock does; those of the others wait for nobody.
func (g *Grant) lost(reason hold.Reason, ended hold.Ended, own *hold.Owner) {
	e := g.engine()
	e.watchdog.Lose(&g.Lease)
	ended.Contexts()
	g.forfeit(reason) // only now, when no context says that it is held
	g.key.drop(g)
	for range ended.Losers {
		e.events.lost(ended.Cause)
	}
	Ended(own, ended.Cause)
	e.events.ended(ended.Owners, ended.Cause)
}

// forfeit has the store release a lost grant, should it be there still. With Expired, its lease in the store ends by
// itself a moment later, or after the grace of its last Hold: until the validity is over the work may take to stop,
// and nothing is sent. The release matters where renewals were carried out and only their answers were lost. With
// MaxHold the lease goes on, and waiters of other processes would wait for all of it. With Gone there is nothing,
// except the places in a fair lock's queue of those that it was passed to, and what a late copy of the acquisition may
// still do, which matters where no lease of its own would end it.
func (g *Grant) forfeit(reason hold.Reason) {
	sender := g.engine().sender
	switch reason {
	case hold.Expired:
		// The wheel rounds down: a caller that looks at ValidUntil may rely on the hold for a tick more.
		sender.Disown(g.disowned(g.Lease.ValidUntil() - g.engine().clock.Now()))
	case hold.MaxHold:
		sender.Disown(g.disowned(0))
	case hold.Gone:
		g.engine().leavePlaces(g)
		if g.doubt > 0 && g.proto.Traits().Lasts {
			sender.Disown(g.disowned(0))
		}
	}
}

// disown ends a grant whose Hold nobody ever got to see and that its client leaves to the ledger: it is closing, or the
// store did not say whether the grant stands. Close may have found it on the table and ended it first; then nothing is
// left to do here.
func (g *Grant) disown() {
	ended, ok := g.End(hold.Closed, g.engine().refuse(g.proto))
	if !ok {
		return
	}
	g.engine().watchdog.Stop(&g.Lease)
	ended.Contexts()
	g.engine().events.ended(ended.Owners, ended.Cause)
	g.engine().sender.Disown(g.disowned(0))
	g.key.drop(g)
}

// disowned is the grant as the ledger takes it over, not to be released for a time.
func (g *Grant) disowned(wait time.Duration) request.Disowned {
	return request.Disowned{
		Proto: g.parting(), ID: g.id, Lease: g.Longest(), Late: g.doubt, Wait: max(wait, g.Stays()),
	}
}

// lostError makes the error that a lost hold's contexts end with. A cause that was a command's own time limit does not
// match the context errors: the application's context has not ended by itself.
func (e *Engine) lostError(p store.Protocol, reason hold.Reason, cause error) error {
	if cause != nil {
		cause = ours(cause)
	}
	return e.cfg.Errors.Lost(p, reason, cause)
}
