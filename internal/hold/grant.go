package hold

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/watchdog"
)

// Grant is what the store gave this process for a name, under one id: a lease, and the Holds that live on it. An
// exclusive grant has one Hold at a time. It passes from one caller to the next by ending one Hold and beginning
// another. Readers of one process have several Holds on one grant: the first asked the store, the others joined it and
// sent nothing, and the last one to leave releases it. The store sees one reader; in Redis its field and hold key are
// what they are for any reader, so that Java reads them as ever.
//
// What is known here is the truth about who holds; what the store shows of it follows.
type Grant struct {
	Lease watchdog.Lease // its validity, and its renewal

	host  *Host
	terms Terms         // constant
	joins time.Duration // other readers may join it before that; 0: nobody may. Constant once others know of the grant

	mu        *sync.Mutex // of the key that it is a grant of; guards what is below, its Holds and their Levels
	state     state
	single    bool       // it serves no other Hold after the present one
	holds     *Hold      // those that live on it, or of which a context may; a new one has no level yet
	ending    int32      // levels that part, and Holds that a limit has ended: their contexts may live
	onRelease *onRelease // what few releases have to do besides; nil: nothing
	steps     *steps     // nil: it was never nested
}

// onRelease is what the release of a grant has to do besides.
type onRelease struct {
	retain Retention
	served []string      // waiters that it was passed to, which have places in the store's queue
	stays  time.Duration // until when the store keeps it, since a Hold has ended by its grace; 0: it need not
}

type state uint8

const (
	stands  state = iota // a caller has it, or is about to
	leaving              // its last Hold is over, and contexts of it are about to end
	between              // they have ended, and the caller that ended the last decides what becomes of it
	idle                 // nobody has it, and the next caller of this process may
	over
)

// Terms are what the store was asked for.
type Terms struct {
	Lease   time.Duration
	Renewed bool          // until it is released
	Yields  bool          // its holders are told when others wait
	Keep    time.Duration // for how long it may be idle; 0: it is released after its last Hold
}

// InitLocked makes g a grant that came by a call first sent at start, with its first Hold, which has a token and no
// level yet. Its Lease.Of must be set. From now on the watchdog may end it, once mu is free.
func (g *Grant) InitLocked(host *Host, mu *sync.Mutex, start time.Duration, terms Terms, fence int64) *Hold {
	g.host, g.mu, g.terms = host, mu, terms
	h := g.beginLocked(start, fence)
	if terms.Renewed {
		host.Watchdog.Renew(&g.Lease, start, terms.Lease)
	} else {
		host.Watchdog.Guard(&g.Lease, ValidUntil(start, terms.Lease))
	}
	return h
}

// beginLocked adds a Hold.
func (g *Grant) beginLocked(start time.Duration, fence int64) *Hold {
	h := &Hold{Fence: fence, grant: g, start: start, next: g.holds}
	g.holds = h
	return h
}

// Valid reports that the store cannot have given the lock to anybody else yet.
func (g *Grant) Valid() bool { return g.validAt(g.host.Clock.Now()) }

func (g *Grant) validAt(now time.Duration) bool { return now < g.Lease.ValidUntil() }

// Stands reports that nobody has ended the grant, or its last Hold.
func (g *Grant) Stands() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == stands
}

// IsIdle reports that nobody has the grant, and the next caller may.
func (g *Grant) IsIdle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.IsIdleLocked()
}

// IsRenewed reports that the watchdog renews the grant. It is constant.
func (g *Grant) IsRenewed() bool { return g.terms.Renewed }

// Over reports that the grant is over: released, or about to be, or lost.
func (g *Grant) Over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.OverLocked()
}

// OverLocked is Over for a caller that has the mutex.
func (g *Grant) OverLocked() bool { return g.state == over }

// Longest is how long the store keeps the grant at most, if nothing extends it any more.
func (g *Grant) Longest() time.Duration { return g.terms.Lease }

// RenewTTL is the lease that a renewal asks for; 0 if the grant is over.
func (g *Grant) RenewTTL() time.Duration {
	if g.Over() {
		return 0
	}
	return g.terms.Lease
}

// Current is a Hold that lives on the grant; nil if there is none at the moment.
func (g *Grant) Current() *Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.CurrentLocked()
}

// CurrentLocked is Current for a caller that has the mutex.
func (g *Grant) CurrentLocked() *Hold {
	h := g.holds
	for h != nil && h.err != nil {
		h = h.next
	}
	return h
}

// Owned reports that a Lock has returned, or is about to, with a Hold of the grant. From then on its context tells the
// caller of the end.
func (g *Grant) Owned() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for h := g.holds; h != nil && g.state == stands; h = h.next {
		for l := h.top; l != nil; l = l.below {
			if l.state == open {
				return true
			}
		}
	}
	return false
}

// neededLocked reports that a Hold lives and has a level, those under way included.
func (g *Grant) neededLocked() bool {
	for h := g.holds; h != nil; h = h.next {
		if h.depth > 0 && h.err == nil {
			return true
		}
	}
	return false
}

// emptyLocked reports that no Hold has a level, those included that were unlocked.
func (g *Grant) emptyLocked() bool {
	for h := g.holds; h != nil; h = h.next {
		if h.top != nil {
			return false
		}
	}
	return true
}

// levelsLocked is how many levels were not unlocked.
func (g *Grant) levelsLocked() (n int32) {
	for h := g.holds; h != nil; h = h.next {
		n += h.depth
	}
	return n
}

// healthyLocked reports that more than half of a lease is left of the validity, and that the last renewal did not fail:
// otherwise the store is to be asked whether the grant stands.
func (g *Grant) healthyLocked(now time.Duration) bool {
	return g.Lease.ValidUntil()-now > g.terms.Lease/2 && !g.Lease.Failing()
}

// removeLocked takes a Hold off the grant.
func (g *Grant) removeLocked(h *Hold) {
	for at := &g.holds; *at != nil; at = &(*at).next {
		if *at == h {
			*at, h.next = h.next, nil
			break
		}
	}
	h.limit.cancel()
}

func (g *Grant) onReleaseLocked() *onRelease {
	if g.onRelease == nil {
		g.onRelease = &onRelease{}
	}
	return g.onRelease
}

// Stays is for how long the grant must not be released yet. It may be that one of its Holds has ended by its grace, and
// that the others were unlocked since: the work of the first has until the end of the validity to stop in, as of then.
func (g *Grant) Stays() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.onRelease == nil || g.onRelease.stays == 0 {
		return 0
	}
	return max(g.onRelease.stays-g.host.Clock.Now(), 0)
}

// IdleLocked makes a grant idle whose last Hold is over: nobody has it, and the next caller may, as it could be passed
// to one (see PassToLocked). It reports false, and the grant stays as it is, if that is not so.
func (g *Grant) IdleLocked(now time.Duration) bool {
	if g.state != between || g.terms.Keep == 0 || !g.passesLocked(now) {
		return false
	}
	g.state = idle
	return true
}

// IsIdleLocked is IsIdle for a caller that has the mutex.
func (g *Grant) IsIdleLocked() bool { return g.state == idle }

// Keep is for how long the grant may be idle.
func (g *Grant) Keep() time.Duration { return g.terms.Keep }

// passesLocked reports that nothing which a grant went through keeps it from the next caller, and that the store need
// not be asked whether it stands.
func (g *Grant) passesLocked(now time.Duration) bool {
	return !g.single && g.terms.Renewed && g.settledLocked() && g.healthyLocked(now)
}

// PassToLocked begins the next Hold of a grant whose last one is over: all contexts have ended, and nobody else has
// ended the grant since. It may have been idle in between. Validity is what the store last confirmed; passing does not
// raise it, and renewals go on. It returns nil, and the grant stays as it is, if the store has to be asked:
//
//   - the lease is half over, or its last renewal failed;
//   - one of the two does not renew it, or the next one wants another lease;
//   - a step of the count is unanswered: a late copy would count in the next Hold;
//   - another side was asked for inside the last Hold: what came of that would be inside the next, in whose way it is;
//   - the last Hold was limited: the release is what tells that the limit was obeyed; or the lock is retained;
//   - the next one has the lock retained (MinHold): that is to be counted from a grant of its own.
//
// The decision and the beginning are one step under the mutex, and nobody can nest in the last Hold, ask for another
// side inside it, or join it any more, so what was found settled stays so. For example, a writer's Hold in whose
// context a read was asked for: if MarkSingle came first, the grant is single and does not pass; if the unlock came
// first, the Hold is over, and the read is refused.
//
// Place is the id of the next caller's place in the store's queue; "": it has none. It stays there until the release.
func (g *Grant) PassToLocked(want *Want, now time.Duration, fence int64, place string) *Hold {
	if g.state != between && g.state != idle || want.Terms != g.terms || want.MinHold > 0 || !g.passesLocked(now) {
		return nil
	}
	g.state = stands
	h := g.beginLocked(now, fence)
	if place != "" {
		g.onReleaseLocked().served = append(g.onReleaseLocked().served, place)
	}
	g.followLocked()
	return h
}

// Served are the ids of the waiters that the grant was passed to and that have places in the store's queue.
func (g *Grant) Served() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ServedLocked()
}

// ServedLocked is Served for a caller that has the mutex.
func (g *Grant) ServedLocked() []string {
	if g.onRelease == nil {
		return nil
	}
	return g.onRelease.served // to which it is only appended
}

// Share lets other readers join the grant until an instant. Nobody else may know of the grant yet.
func (g *Grant) Share(until time.Duration) { g.joins = until }

// Shared reports that other readers may join the grant, or might have before.
func (g *Grant) Shared() bool { return g.joins > 0 }

// shareMost is how many levels a grant has at most that a reader joins: a reader that leaves looks through them.
const shareMost = 64

// JoinLocked adds a Hold, if the store would let its reader in the same and the grant is sure to stand. Its level has
// no context until it is opened, unless entry says where. It is nil if the store is to be asked:
//
//   - the request that brought the grant was sent some time ago: a writer may have shut the gate since;
//   - no reader is in any more, or the grant is being released or exported;
//   - the lease is half over, or its last renewal failed;
//   - it is not renewed, or the new reader wants another lease than the store was asked for.
//
// A reader that joins and the last one that leaves both take the mutex. If the one that leaves is first, the grant is
// between, and the newcomer asks the store by an id of its own. If the newcomer is first, the other is not the last any
// more and sends nothing. No release can be on its way for a grant that a reader then joins.
func (g *Grant) JoinLocked(want *Want, fence int64, entry Entry) *Level {
	now := g.host.Clock.Now()
	if g.state != stands || now >= g.joins || !g.terms.Renewed || want.Terms != g.terms || !g.healthyLocked(now) ||
		!g.neededLocked() || g.levelsLocked() >= shareMost {
		return nil
	}
	h := g.beginLocked(now, fence)
	l := h.newLevel(&h.first, nil, want.Place)
	if l.state = underWay; entry.ctx != nil {
		l.openLocked(entry.ctx, entry.outer)
	}
	h.pushLocked(l)
	h.limitLocked(nil, want.MaxHold)
	h.graceLocked(want.Grace)
	return l
}

// Withdraw takes back a level that joined and was not opened. It reports alone if the others were unlocked meanwhile,
// so that nobody else is left to release the grant.
func (g *Grant) Withdraw(l *Level) (alone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.closeLocked(closed)
	l.hold.takeOutLocked(l)
	if g.neededLocked() {
		g.removeLocked(l.hold)
		return false
	}
	return g.state == stands
}

// How is a way in which a grant ends. See the table in the package's documentation.
type How uint8

const (
	Released How = iota // its last Hold was unlocked, and the caller releases it
	Lost                // it was lost
	Closed              // its client is closed
)

// Ended is what is left to do for a grant that End made be over, or for a Hold that was found lost as it was unlocked.
type Ended struct {
	Cause    error    // what the contexts end with
	Losers   int      // how many are to be told of a loss
	Owners   []*Owner // whose Hold it was
	contexts []ending
}

// ending is a level whose context is to end.
type ending struct {
	level *Level
	cause error
}

// Contexts ends the contexts of all levels. To end a context means to end all that were made from it; so this can take
// long, and is not called while anybody waits. If others end the same contexts, it returns when those have ended.
func (d Ended) Contexts() {
	for _, c := range d.contexts {
		c.level.End(c.cause)
	}
}

// End makes the grant be over, in one of the ways; the Holds that live on it end with a cause. Their levels stay,
// because each is still to be unlocked. It reports false if another caller has ended it, or is about to: Closed
// does not end a grant that is a caller's to pass on, nor Released a grant that stands. A loss after the last Hold, or
// of an idle grant, is told to nobody: that Hold was held to its end.
//
// Several often try at once: the wheel finds that validity is over, a renewal is answered "not there", and the owner
// unlocks. Each comes here, or to Part, and the mutex puts them in an order. If the unlock is first, it looks at the
// validity itself, and either finds the Hold lost or ends it; a loss that comes then marks the grant, which is neither
// passed on nor released any more. If the loss is first, Part says Over, and the owner learns of the loss from its
// unlock.
func (g *Grant) End(how How, cause error) (d Ended, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch from := g.state; {
	case from == over, from == between && how == Closed, from == stands && how == Released:
		return Ended{}, false
	case from == stands:
		return g.endLocked(cause), true
	}
	g.overLocked()
	return Ended{Cause: cause, contexts: g.contextsLocked(nil)}, true
}

// Left are the contexts that may still live of a grant that is over: another caller ended it, and may not have come to
// them yet. Of several that end the same grant each ends its contexts before it goes on to what others rely on.
func (g *Grant) Left() Ended {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Ended{contexts: g.contextsLocked(nil)}
}

// contextsLocked appends the contexts of all Holds, each of which ends with what its Hold ended with.
func (g *Grant) contextsLocked(contexts []ending) []ending {
	for h := g.holds; h != nil; h = h.next {
		contexts = h.contextsLocked(contexts, h.err)
	}
	return contexts
}

// UnusedLocked ends an idle grant. It reports false, and the grant stays as it is, if a caller has it, or it is over.
func (g *Grant) UnusedLocked() bool {
	if g.state != idle {
		return false
	}
	g.overLocked()
	return true
}

// endLocked ends the grant and the Holds that live on it. A level that is joining has no context yet; Open finds its
// Hold over, and the level is withdrawn. A Hold whose caller has not come yet is told of as well.
func (g *Grant) endLocked(cause error) Ended {
	d := Ended{Cause: cause}
	for h := g.holds; h != nil; h = h.next {
		if h.err == nil {
			h.err = cause
			d.Losers++
		}
		h.limit.cancel()
		d.Owners = h.ownersLocked(d.Owners)
	}
	d.contexts = g.contextsLocked(nil)
	d.Losers = max(d.Losers, 1) // one whose limit was exceeded has ended before
	g.overLocked()
	return d
}

// overLocked makes the grant be over. A timer that fires while it is cancelled here finds that under the mutex, and
// does nothing.
func (g *Grant) overLocked() {
	g.state = over
	if g.steps != nil {
		g.host.Wheel.Cancel(&g.steps.timer)
	}
}

// leaveLocked ends the last Hold of a grant.
func (g *Grant) leaveLocked() {
	for h := g.holds; h != nil; h = h.next {
		if h.err == nil {
			h.err = g.host.Released
		}
		h.limit.cancel()
	}
	g.state = leaving
}

// goesOnLocked reports, once, that the last context of a grant that is being left has ended: the grant is the caller's
// to pass on, to keep or to release.
func (g *Grant) goesOnLocked() bool {
	if g.state != leaving || g.ending > 0 {
		return false
	}
	g.state, g.holds = between, nil
	return true
}

// Claim ends the last Hold of a grant as the unlock of its last level would: a Hold that no caller ever got to see, or
// whose last level was withdrawn. It reports false if another goroutine has ended the grant, or has it, or is about to
// end the last context.
func (g *Grant) Claim() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != stands || g.neededLocked() {
		return false
	}
	g.leaveLocked()
	return g.goesOnLocked()
}
