package hold

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
)

// Level is one Lock that was not unlocked yet, and the context that it gave out.
type Level struct {
	scope
	hold  *Hold
	outer *Level                // what the context given to Lock carried
	below *Level                // the next older level of its Hold; guarded by the mutex of the key
	apart atomic.Pointer[apart] // what most do not have; written under the mutex of the key
	state levelState            // guarded by the mutex of the key
}

type levelState uint8

const (
	closed   levelState = iota
	underWay            // its Lock has not returned, and it has no context; or it leaves for another process
	open                // not unlocked yet
	parting             // unlocked while its Hold lived: its context ends, and then it is taken out
)

// apart is what few levels have: something that is tied to them, an owner who is told of their end, a place that is
// known, or something that their holder says of itself. Each lock that is held has a level, so what these need is kept
// behind one pointer.
//
// The pointer is set under the mutex of the key and read without: once the level is open it stays, and one that finds
// none has nothing to run and nobody to tell. Tie, where it comes to a level that is ending at this moment, finds the
// Hold ended. An owner is there before the level is open, so that an unlock cannot miss it.
type apart struct {
	owner *Owner               // nil: nobody is told; constant
	place string               // of its Lock call, see Want; constant
	tied  atomic.Pointer[Tied] // nil: nothing
	said  said                 // guarded by the mutex of the key
}

// Place is where the Hold was taken that the level belongs to: the place of the outermost of its open levels of which
// one is known; "": of none.
func (l *Level) Place() (place string) {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	for at := l.hold.top; at != nil; at = at.below {
		if a := at.apart.Load(); a != nil && a.place != "" {
			place = a.place
		}
	}
	return place
}

// Hold is what the level is a level of.
func (l *Level) Hold() *Hold { return l.hold }

// IsOpen reports that the level was not unlocked.
func (l *Level) IsOpen() bool {
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	return l.state == open
}

// Standing is why a level that a context carries cannot be entered again: what its Hold ended with. A caller that is
// told of an end finds the level's context over: the ender may not have come to it yet.
func (l *Level) Standing() error {
	err := l.hold.Err()
	if err != nil {
		l.cancel(newEnd(err))
	}
	return err
}

type levelKey struct{}

// Value finds the level itself before anything that the parent carries.
func (l *Level) Value(key any) any {
	if _, ok := key.(levelKey); ok {
		return l
	}
	return l.scope.Value(key)
}

// carried is the innermost level that ctx carries; nil: none.
func carried(ctx context.Context) *Level {
	l, _ := ctx.Value(levelKey{}).(*Level)
	return l
}

// Without returns a context that carries no hold.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, levelKey{}, (*Level)(nil))
}

// Levels are the open levels that ctx carries of those grants that are asked for, the innermost first.
func Levels(ctx context.Context, of func(g *Grant) bool) iter.Seq[*Level] {
	return func(yield func(*Level) bool) {
		for l := carried(ctx); l != nil; l = l.outer {
			if of(l.hold.grant) && l.IsOpen() && !yield(l) {
				return
			}
		}
	}
}

// GivenBack is why the innermost level that ctx carries of those grants was closed though its caller did not unlock it:
// what its Hold ended with, or that of a level that it is tied to. It is nil if there is no such reason.
func GivenBack(ctx context.Context, of func(g *Grant) bool) error {
	innermost := carried(ctx)
	l := innermost
	for l != nil && !of(l.hold.grant) {
		l = l.outer
	}
	if l == nil || l.tied() == nil || l.IsOpen() {
		return nil
	}
	if err := l.hold.lost(); err != nil {
		return err
	}
	for other := innermost; other != nil; other = other.outer {
		if other.tied() == l.tied() {
			if err := other.hold.lost(); err != nil {
				return err
			}
		}
	}
	return nil
}

// tied is what the level is tied to others by; nil: it is not.
func (l *Level) tied() *Tied {
	if a := l.apart.Load(); a != nil {
		return a.tied.Load()
	}
	return nil
}

// In reports that ctx carries the level, and none inside it. So ctx can take the place of the level's own context
// without anybody losing a hold by it.
func (l *Level) In(ctx context.Context) bool {
	return carried(ctx) == l
}

// Entry is where a level is opened: within a context, and inside the level that this carries. The zero Entry says that
// it is not opened yet.
type Entry struct {
	ctx   context.Context
	outer *Level
}

// Within makes the Entry of a context. It asks the context, which runs code of the application's, so no mutex may be
// held.
func Within(ctx context.Context) Entry { return Entry{ctx, carried(ctx)} }

// Open gives a level that JoinLocked made its context, and its owner. It reports false, and the level is to be
// withdrawn, if the Hold ended before. The level has no context until then because its owner may be asked for the
// parent of that, for which no mutex is held. It counts meanwhile, so that the grant is not released without it.
func (l *Level) Open(ctx context.Context, owner *Owner) bool {
	outer := carried(ctx)
	l.hold.grant.mu.Lock()
	defer l.hold.grant.mu.Unlock()
	if l.hold.err != nil {
		return false
	}
	if owner != nil {
		with := &apart{owner: owner}
		if a := l.apart.Load(); a != nil {
			with.place = a.place
		}
		l.apart.Store(with)
	}
	l.openLocked(ctx, outer)
	return true
}

// openLocked gives the level its context, inside the level that the context carries: to ask a context runs code of the
// application's, so that is done without the mutex.
func (l *Level) openLocked(ctx context.Context, outer *Level) {
	l.outer, l.parent, l.state = outer, ctx, open
}

// End ends the level's context. It does not take the level out of its hold. Several may call it, what ends the hold and
// the unlock: the first cause stays, and each returns when the context has ended with all that was derived from it. No
// mutex is held, for that may take any time, as End then reports.
func (l *Level) End(cause error) (tookTime bool) {
	host := l.hold.grant.host
	tookTime = l.cancel(host.end(cause))
	if tied := l.tied(); tied != nil && cause != host.Released {
		host.Detach(tied.Run)
	}
	return tookTime
}

// Owner is the Lock call that has a hold, or several holds that it took as one. An observer is told by it when the call
// has them no more. Most calls have no owner, because nobody observes them.
//
// All levels of a call lead to its owner. Package hold says of whom a hold has ended, and may name an owner twice: a
// hold can be lost while its last level is on the way out. So the goroutine that tells asks ReportsEnd first.
type Owner struct {
	// Of is what the owner is a part of. Constant.
	Of any

	over atomic.Bool
}

// ReportsEnd reports once that the caller is the one who reports the end.
func (o *Owner) ReportsEnd() bool { return o != nil && o.over.CompareAndSwap(false, true) }

// Owner is the call that the level belongs to; nil if nobody is to be told of its end. It may be asked without a mutex,
// also after the level has ended.
func (l *Level) Owner() *Owner {
	if a := l.apart.Load(); a != nil {
		return a.owner
	}
	return nil
}

// ownersLocked appends those whose hold has ended with the level: that of its call, and that of all that the level is
// tied to.
func (l *Level) ownersLocked(owners []*Owner) []*Owner {
	a := l.apart.Load()
	if a == nil {
		return owners
	}
	if a.owner != nil {
		owners = append(owners, a.owner)
	}
	if tied := a.tied.Load(); tied != nil && tied.Owner != nil {
		owners = append(owners, tied.Owner)
	}
	return owners
}

// Tied is what levels that were taken as one have together.
type Tied struct {
	Run   func() // in a goroutine of its own, should one of them be lost or its client be closed
	Owner *Owner // has all of them, and so has nothing when one has ended; nil: nobody is told
}

// Tie ties the level to others. Nobody may have been given it yet. A loss that comes before this finds nothing tied,
// and one that comes after it does; in between both may run what is tied, so it must be such that it can run twice. If
// the level has ended, why is returned.
func (l *Level) Tie(with *Tied) (lost error) {
	g := l.hold.grant
	g.mu.Lock()
	if l.apart.Load() == nil {
		l.apart.Store(&apart{})
	}
	l.apart.Load().tied.Store(with)
	lost = l.hold.err
	g.mu.Unlock()
	if lost != nil {
		g.host.Detach(with.Run)
	}
	return lost
}

// closeLocked unlocks the level, which stays in its Hold until it is taken out.
func (l *Level) closeLocked(to levelState) {
	l.state = to
	l.hold.depth--
	l.hold.unlimitLocked(l)
}

// Outcome says what an unlock did.
type Outcome uint8

// The outcomes of Part.
const (
	NotHeld   Outcome = iota // it was unlocked before
	Refused                  // the client is closed; Close ends the grant
	Overdue                  // nothing: the Hold has come to its limit, and is to be ended first
	Over                     // the Hold had ended before it
	FoundLost                // the validity is over: the grant has ended, as lost, for all that have levels of it
	Unlocked                 // the Hold lasted until now
)

// Parted is what Part did. The caller does the rest, without the mutex: it ends the level's context and then, with Over
// or Unlocked or FoundLost, takes the level out.
type Parted struct {
	Outcome Outcome
	At      time.Duration // with Unlocked: when the level was unlocked
	Ended   Ended         // its Cause: what the level's context ends with, and with Over and FoundLost its unlock
}

// Part is the first half of an unlock, once: from now on nobody enters the level. It neither ends the level's context
// nor takes the level out. Open says that the client takes calls.
//
// With the last level its Hold is over. What matters is not how many levels are left but whether a Hold that lives has
// one: those of a reader that has ended by its MaxHold stay until they are unlocked and keep nothing. So after the lock
// was released they may be unlocked as well, and are told what they ended with.
//
// The last word on whether the Hold lasted until now is said here. If the validity is over, another client may have had
// the lock already, so the owner must learn of it from its unlock, even if the store would still answer "released". If
// its grace has begun, the lock stays taken for the time that the work has to stop in: the members of a set come to
// their grace at the same instant, and the first that the wheel comes to has all others unlocked.
//
// With Refused, the level stays in its Hold, though nobody can unlock it a second time: Close is about to end the
// grant, and the observer that is to be told of that is found by the level.
func (l *Level) Part(isOpen bool) (p Parted) {
	h, g := l.hold, l.hold.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case l.state != open && l.state != underWay:
		return Parted{Outcome: NotHeld}
	case !isOpen && g.state == stands:
		l.state = closed
		return Parted{Outcome: Refused}
	case h.err != nil:
		l.closeLocked(closed)
		return Parted{Outcome: Over, Ended: Ended{Cause: h.err}}
	case h.limit != nil && h.limit.reasonLocked() != 0:
		return Parted{Outcome: Overdue}
	}
	l.closeLocked(parting)
	now := g.host.Clock.Now()
	switch {
	case !g.validAt(now):
		l.state = closed
		return Parted{Outcome: FoundLost, Ended: g.endLocked(g.host.Lost(g, Expired, nil))}
	case g.neededLocked():
		if h.depth == 0 {
			h.err = g.host.Released
			h.limit.cancel()
		}
		g.followLocked()
	default:
		g.leaveLocked()
	}
	g.ending++
	return Parted{Outcome: Unlocked, At: now, Ended: Ended{Cause: g.host.Released}}
}

// TakenOut is what Out did.
type TakenOut struct {
	Last   bool // the grant is the caller's, who passes it on, keeps or releases it
	Done   bool // the Lock call is over, and the caller tells the observer
	Vacant bool // the grant is over, and no level of it is left
}

// Out is the second half of an unlock: it takes the level out of its Hold, when the level's context has ended.
//
// A grant goes on with the last level that is taken out, whoever unlocked it. Two goroutines may unlock two levels at
// once, of which the context of one takes long to end, because much was derived from it. Were the grant to go on with
// the level that was unlocked last, the next caller would hold while contexts of the first level still live.
func (l *Level) Out() (o TakenOut) {
	h, g := l.hold, l.hold.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.state == parting {
		g.ending--
		l.state = closed
	}
	h.takeOutLocked(l)
	o.Done = h.top == nil
	if o.Done {
		g.removeLocked(h)
	}
	o.Last = g.goesOnLocked()
	o.Vacant = g.state == over && g.emptyLocked()
	return o
}
