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
	underWay            // in its Hold, without a context: its Lock has not returned, or it leaves for another process
	open                // not unlocked yet
)

// apart is what few levels have: something that is tied to them, an owner who is told of their end, or a place that is
// known. Each lock that is held has a level, so what these need is kept behind one pointer.
//
// The pointer is set under the mutex of the key and read without: once the level is open it stays, and one that finds
// none has nothing to run and nobody to tell. Tie, where it comes to a level that is ending at this moment, finds the
// Hold ended. An owner is there before the level is open, so that an unlock cannot miss it.
type apart struct {
	owner *Owner               // nil: nobody is told; constant
	place string               // of its Lock call, see Want; constant
	tied  atomic.Pointer[Tied] // nil: nothing
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

// Without returns a context that carries no hold.
func Without(ctx context.Context) context.Context {
	return context.WithValue(ctx, levelKey{}, (*Level)(nil))
}

// Levels are the open levels that ctx carries of those grants that are asked for, the innermost first.
func Levels(ctx context.Context, of func(g *Grant) bool) iter.Seq[*Level] {
	return func(yield func(*Level) bool) {
		l, _ := ctx.Value(levelKey{}).(*Level)
		for ; l != nil; l = l.outer {
			if of(l.hold.grant) && l.IsOpen() && !yield(l) {
				return
			}
		}
	}
}

// GivenBack is why the innermost level that ctx carries of those grants was closed though its caller did not unlock it:
// what its Hold ended with, or that of a level that it is tied to. It is nil if there is no such reason.
func GivenBack(ctx context.Context, of func(g *Grant) bool) error {
	innermost, _ := ctx.Value(levelKey{}).(*Level)
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
	in, _ := ctx.Value(levelKey{}).(*Level)
	return in == l
}

// Open gives a level that Join made its context, and its owner. It reports false, and the level is to be withdrawn, if
// the Hold ended before. The level has no context until then because its owner may be asked for the parent of that, for
// which no mutex is held. It counts meanwhile, so that the grant is not released without it.
func (l *Level) Open(ctx context.Context, owner *Owner) bool {
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
	l.openLocked(ctx)
	return true
}

// openLocked gives the level its context.
func (l *Level) openLocked(ctx context.Context) {
	l.outer, _ = ctx.Value(levelKey{}).(*Level)
	l.parent = ctx
	l.state = open
}

// End ends the level's context. It does not take the level out of its hold. It may be called twice, by what ends the
// hold and by the unlock: the first cause stays. No mutex is held, for what the application derived from the context
// ends here too, and may take any time.
func (l *Level) End(cause error) {
	host := l.hold.grant.host
	l.cancel(host.end(cause))
	if tied := l.tied(); tied != nil && cause != host.Released {
		host.Detach(tied.Run)
	}
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

// closeLocked takes the level out of its Hold; it reports false if it was out already.
func (l *Level) closeLocked() bool {
	if l.state == closed {
		return false
	}
	l.state = closed
	h := l.hold
	h.unlimitLocked(l)
	for at := &h.top; *at != nil; at = &(*at).below {
		if *at == l {
			*at, l.below = l.below, nil
			h.depth--
			break
		}
	}
	return true
}

// Outcome says what an unlock did.
type Outcome uint8

// The outcomes of Part.
const (
	NotHeld   Outcome = iota // it was unlocked before
	Refused                  // the client is closed; Close ends the grant
	Over                     // the Hold had ended before it
	FoundLost                // it was the last, and the validity is over: the grant has ended, as lost
	Last                     // it was the last: the Hold is over, and the caller passes the grant on or releases it
	Inner                    // others stay
)

// Parted is what Part did. The caller does the rest, without the mutex: it ends the level's context, tells the
// observer, and asks the store.
type Parted struct {
	Outcome Outcome
	At      time.Duration // with Last: when the Hold ended
	Ended   Ended         // its Cause: what the level's context ends with, and with Over and FoundLost its unlock
	Done    bool          // the Lock call is over, and the caller tells the observer
	Vacant  bool          // with Over: the grant is over too, and no level of it is left
}

// Part takes the level out of its Hold, once. It does not end the level's context. Open says that the client takes
// calls.
//
// Whether the level was the last one, and so which caller releases, is decided here under the mutex. Two goroutines
// that unlock the last two levels at once are told Inner and Last, in either order, never both the same. What matters
// is not how many levels are left but whether a Hold that lives has one: those of a reader that has ended by its
// MaxHold stay until they are unlocked and keep nothing. So after the lock was released they may be unlocked as well,
// and are told what they ended with.
//
// The last word on whether the Hold lasted until now is said here. If the validity is over, another client may have had
// the lock already, so the owner must learn of it from its unlock, even if the store would still answer "released".
//
// With Refused, the level stays in its Hold, though nobody can unlock it a second time: Close is about to end the
// grant, and the observer that is to be told of that is found by the level.
func (l *Level) Part(isOpen bool) (p Parted) {
	h, g := l.hold, l.hold.grant
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isOpen && g.state == stands && l.state != closed {
		l.state = closed
		return Parted{Outcome: Refused}
	}
	if !l.closeLocked() {
		return Parted{Outcome: NotHeld}
	}
	p.Done = h.depth == 0
	p.Ended.Cause = g.host.Released
	switch {
	case h.err != nil:
		p.Outcome, p.Ended.Cause = Over, h.err
		p.Vacant = g.state == over && g.levelsLocked() == 0
	case g.neededLocked():
		p.Outcome = Inner
		if p.Done {
			h.err = g.host.Released
			g.removeLocked(h)
		}
		g.followLocked()
	default:
		p.At = g.host.Clock.Now()
		if p.At >= g.Lease.ValidUntil() {
			p.Outcome, p.Ended = FoundLost, g.endLocked(g.host.Lost(g, Expired, nil))
			break
		}
		p.Outcome = Last
		g.betweenLocked()
	}
	return p
}
