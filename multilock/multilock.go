package multilock

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/holdfast-go/holdfast/internal/client"
	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/lock"
)

// maxLocks bounds the script that takes all locks, because Redis serves nobody else while it runs: 1,000 locks take
// some milliseconds. Redis itself would refuse about 8,000, where Lua's stack ends.
const maxLocks = 1000

// Lock is a handle on several locks that are taken as one. The handle itself holds nothing. All methods are safe for
// concurrent use.
//
// It is immutable once New has returned, so it needs no mutex. The state of a call is in a heldSet of its own.
type Lock struct {
	members []*lock.Lock
	groups  []group
	places  bool // a member refuses to be entered again, and is told where it was taken
	maxWait time.Duration
	err     error // a bad argument of New; returned by every call
}

var _ lock.Locker = (*Lock)(nil)

// group is a set of members that one script can take, or a single member.
type group struct {
	engine *engine.Engine
	reqs   []*engine.Request
}

// New returns a handle on all of locks. It is cheap and sends nothing. The members may be of any kind and of any
// client. Each keeps the Lease, FixedLease, MaxHold, Grace and NonReentrant that it was made with, unless opts sets
// them; its Keep and Yields have no effect in the set. Only the MaxWait in opts, or else the shortest one of the
// members' clients, limits the whole wait. A MinHold is refused, and so are Keep and Yields in opts.
//
// A MaxHold counts from the acquisition of its member. If it ends before the others are acquired, Lock starts again,
// so a set whose MaxHold is shorter than the round trips that it costs is never held. Do not list one name through two
// clients of the same store: the members exclude each other, and Lock never succeeds.
//
// With no locks, more than 1,000, a nil lock, a duplicate, both sides of one read-write lock, an invalid option, or a
// FixedLease that a member refuses, every call on the handle returns a *lock.ArgumentError and sends nothing.
func New(locks []*lock.Lock, opts ...lock.Option) *Lock {
	l := &Lock{members: append([]*lock.Lock(nil), locks...)}
	o := handle.Collect(opts)
	err := o.Err
	switch {
	case err != nil:
	case len(locks) == 0:
		err = &lock.ArgumentError{Name: "locks", Problem: "must not be empty"}
	case len(locks) > maxLocks:
		err = &lock.ArgumentError{Name: "locks", Value: len(locks),
			Problem: fmt.Sprintf("must have at most %d members", maxLocks)}
	default:
		err = l.sort(o)
	}
	l.err = err
	return l
}

// place identifies locks that one script can take.
type place struct {
	engine *engine.Engine
	slot   int
}

// sort groups the members, in the order of their names.
//
// All callers try the groups in one order, that of their names. The order prevents no deadlock, because nobody
// waits while holding; it makes it likelier that two callers meet at the first group, where the loser has
// nothing to give back.
//
// An example on a cluster, where b and d are in one slot: the members d, a, c, b make the groups [a], [b d],
// [c].
func (l *Lock) sort(o handle.Options) error {
	type seat struct {
		engine *engine.Engine
		key    string
	}
	l.maxWait = l.longest(o)
	seen := make(map[seat]int, len(l.members))
	at := make(map[place]int)
	for n, member := range l.members {
		e, req, err := open(member, o)
		if err != nil {
			return err
		}
		s := seat{e, req.Proto.Key()}
		if first, twice := seen[s]; twice {
			return &lock.ArgumentError{Name: fmt.Sprintf("locks[%d]", n),
				Problem: fmt.Sprintf("is a duplicate of locks[%d], %q", first, req.Proto.Name())}
		}
		seen[s] = n
		req.MaxWait, req.Waits = 0, l.maxWait // limits the whole call, not a member
		req.Member = true
		l.places = l.places || req.Reentry == engine.Refused
		if !req.Proto.Traits().InSets {
			l.groups = append(l.groups, group{e, []*engine.Request{&req}})
			continue
		}
		p := place{engine: e, slot: e.Slot(req.Proto.Key())}
		i, ok := at[p]
		if !ok {
			i = len(l.groups)
			at[p] = i
			l.groups = append(l.groups, group{engine: e})
		}
		l.groups[i].reqs = append(l.groups[i].reqs, &req)
	}
	for _, g := range l.groups {
		sort.Slice(g.reqs, func(i, j int) bool { return g.reqs[i].Proto.Key() < g.reqs[j].Proto.Key() })
	}
	sort.SliceStable(l.groups, func(i, j int) bool {
		return l.groups[i].reqs[0].Proto.Key() < l.groups[j].reqs[0].Proto.Key()
	})
	return nil
}

// open returns a member's engine, and the request for it with further options applied.
func open(member *lock.Lock, o handle.Options) (*engine.Engine, engine.Request, error) {
	if member == nil {
		return nil, engine.Request{}, &lock.ArgumentError{Name: "lock", Problem: "must not be nil"}
	}
	parts := (*handle.Lock)(member).Parts()
	switch {
	case parts.Err != nil:
		return nil, engine.Request{}, parts.Err
	case parts.Engine == nil:
		return nil, engine.Request{}, &lock.ArgumentError{Name: "lock", Problem: handle.NoLock}
	}
	req := parts.Request
	o.Apply(&req)
	req.Keep, req.Yields = 0, false // of the member's own handle: a set is released as one
	if err := vet(&req, &o, parts.Engine.Lease()); err != nil {
		return nil, engine.Request{}, err
	}
	return parts.Engine, req, handle.CheckLease(&req)
}

// vet checks options of the set, and of a member, that a set cannot have.
func vet(req *engine.Request, o *handle.Options, lease time.Duration) error {
	switch {
	case req.MinHold > 0:
		return &lock.ArgumentError{Name: "MinHold", Value: req.MinHold, Problem: "must not be given in a set of locks"}
	case o.Yields:
		return &lock.ArgumentError{Name: "Yields", Value: true, Problem: "must not be given in a set of locks"}
	case o.Keep > 0:
		return &lock.ArgumentError{Name: "Keep", Value: o.Keep, Problem: "must not be given in a set of locks"}
	}
	return client.CheckTimes(o, req, lease)
}

// longest is how long the whole wait may take: what the options say, or else the shortest of the members' clients.
func (l *Lock) longest(o handle.Options) (most time.Duration) {
	if o.MaxWait > 0 {
		return o.MaxWait
	}
	for _, member := range l.members {
		if member == nil {
			continue // which is refused
		}
		if d := (*handle.Lock)(member).Parts().MaxWait; d > 0 && (most == 0 || d < most) {
			most = d
		}
	}
	return most
}

// Names returns the names of the members, in the order given to New.
func (l *Lock) Names() []string {
	if l == nil {
		return nil
	}
	names := make([]string, len(l.members))
	for i, member := range l.members {
		if member != nil {
			names[i] = member.Name()
		}
	}
	return names
}

// Lock waits until all members are held and returns the holds as one context, as a [lock.Lock] does for one hold.
// The context ends when any of the holds ends. Members that ctx already carries are re-entered.
//
// Unlock releases every member, once; a second call returns [lock.ErrNotHeld]. If a member was lost, unlock returns
// that member's *lock.LostError; the others were released at the loss. If the store has not confirmed the release of a
// member, it returns a *lock.ReleaseError that names it, and others may have to wait for that member alone.
//
// On error, Lock returns the context that it was given, nothing is held that was not held before, and unlock only
// returns ErrNotHeld. ErrBusy means that by the last answer another holds one of the members.
func (l *Lock) Lock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return l.take(ctx, false)
}

// TryLock makes one attempt and does not wait: if one of the members is busy, the error is ErrBusy.
func (l *Lock) TryLock(ctx context.Context) (held context.Context, unlock func() error, err error) {
	return l.take(ctx, true)
}

// Do calls fn with all members held, and passes it the context that carries them. They are released when fn returns
// or panics. The error is a *lock.WorkError if fn was called, and otherwise Lock's.
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if fn == nil {
		return &lock.ArgumentError{Name: "fn", Problem: "must not be nil"}
	}
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = lock.Join(err, unlock()) }()
	return fn(held)
}

// Held returns the live holds of all members that ctx carries, in the order given to New. It sends nothing. The error
// is that of the first member without a hold.
func (l *Lock) Held(ctx context.Context) ([]lock.Hold, error) {
	if err := l.check(ctx); err != nil {
		return nil, err
	}
	holds := make([]lock.Hold, len(l.members))
	for i, member := range l.members {
		var err error
		if holds[i], err = member.Held(ctx); err != nil {
			return nil, err
		}
	}
	return holds, nil
}

func (l *Lock) check(ctx context.Context) error {
	switch {
	case l == nil || l.err == nil && len(l.groups) == 0:
		return &lock.ArgumentError{Name: "lock", Problem: "must come from New"}
	case l.err != nil:
		return l.err
	case ctx == nil:
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	return nil
}
