package multilock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	// Two callers that took each other's busy lock must not meet again in step, so each pause is random,
	// between a half and one and a half of a value that doubles from the first to the last. A tenth of a second
	// at most keeps a caller from sleeping long past the moment when all its locks are free.
	firstPause = time.Millisecond // before the first retry of everything
	lastPause  = 100 * time.Millisecond
)

// heldSet is the state of one Lock call.
//
// The goroutine of the Lock call alone writes ctx and sets, and it does so before anybody else knows the set.
// After that the caller's unlock and the loss of any member may call release at the same time. The first one
// releases and closes released; the others wait for that, and read err afterwards. They wait at a channel and not in
// a sync.Once, whose mutex would stop the clock of a bubble of testing/synctest while a release is under way.
type heldSet struct {
	ctx  context.Context
	sets [][]*hold.Level // levels taken together, in the order in which they were taken

	unlocked atomic.Bool
	owner    *hold.Owner   // who is told of the end; nil: nobody
	begun    atomic.Bool   // somebody releases
	released chan struct{} // closed when err stands
	err      error
}

func notHeld() error { return lock.ErrNotHeld }

func (l *Lock) take(ctx context.Context, once bool) (context.Context, func() error, error) {
	if err := l.check(ctx); err != nil {
		return ctx, notHeld, err
	}
	for _, g := range l.groups {
		if g.engine.Closed() {
			return ctx, notHeld, lock.ErrClosed
		}
	}
	observed := l.observe(ctx, once)
	h, err := l.attempts(ctx, once)
	if err == nil {
		h.tie(observed)
	}
	observed.End(err)
	if err != nil {
		return ctx, notHeld, err
	}
	return h.ctx, h.unlock, nil
}

// observe begins the call for the observer of the first lock's client. The locks are not told of by themselves.
func (l *Lock) observe(ctx context.Context, once bool) *engine.Observed {
	first := (*handle.Lock)(l.members[0]).Parts().Engine
	return first.Observe(ctx, func() engine.Call {
		return engine.Call{Name: strings.Join(l.Names(), ","), Kind: string(lock.KindMultilock), Try: once}
	})
}

// tie ties everything that is held to one another, and has the observer know of it. The observer may put something
// between the context that carries all and the caller's work, but not another one in its place.
func (h *heldSet) tie(observed *engine.Observed) {
	ctx, owner := observed.HoldsNow(h.ctx)
	h.owner = owner
	tied := &hold.Tied{Run: func() { h.release() }, Owner: owner}
	for _, levels := range h.sets {
		engine.Tie(levels, tied)
	}
	if last := h.sets[len(h.sets)-1]; last[len(last)-1].In(ctx) {
		h.ctx = ctx
	}
}

// attempts takes everything. When a group is busy it starts again, holding nothing, with that group first. A group
// whose node does not answer counts as busy: it is waited for in its queue, while the others are free.
//
// An example with the groups a and b. Caller 1 takes a and finds b busy. It gives a back, pauses, and waits in
// the queue of b while it holds nothing. Caller 2, which holds b, may take a in the meantime. When b is free,
// caller 1 takes b and tries a; if that is busy, it gives b back and waits for a. No caller ever waits for one
// group while it holds another, so no circle of waiters can arise.
//
// A member can be lost while the others are being taken. The context of the set ends by that, and everything is
// given back and tried again, since the work must not begin with a hold that is gone.
func (l *Lock) attempts(ctx context.Context, once bool) (*heldSet, error) {
	groups, first, answered := l.placed(), 0, false
	var last error // of the last round: one of them is busy, or its node did not answer
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		h := &heldSet{ctx: ctx, released: make(chan struct{})}
		busy, err := h.takeAll(groups, first, once, answered, l.left(began))
		if err == nil {
			return h, nil
		}
		lost := ctx.Err() == nil && h.ctx.Err() != nil
		l.giveBack(ctx, h, l.left(began))
		if last != nil && engine.NoAnswer(err) {
			err = last // the answer of an earlier round says more
		}
		switch {
		case errors.Is(err, store.ErrApart):
			groups, first = apart(groups), 0
			continue
		case once && lost:
			return nil, lostEarly(context.Cause(h.ctx))
		case ctx.Err() != nil && last != nil && !errors.Is(err, lock.ErrBusy) && !errors.Is(err, lock.ErrUnavailable):
			return nil, gaveUp(ctx, last)
		case ctx.Err() != nil:
			return nil, gaveUp(ctx, err)
		}
		away := groups[busy].engine.Unanswered(err)
		if once || busy == first && !lost || !errors.Is(err, lock.ErrBusy) && !away && !lost {
			return nil, err
		}
		first, answered, last = busy, !away, err
		delay := pause/2 + rand.N(pause)
		if l.maxWait > 0 {
			delay = min(delay, l.left(began))
		}
		if !sleep(ctx, delay) {
			return nil, gaveUp(ctx, err)
		}
		if l.maxWait > 0 && time.Since(began) >= l.maxWait {
			return nil, err
		}
	}
}

// placed returns the groups, with the place of the call where that may have to be told.
func (l *Lock) placed() []group {
	if !l.places {
		return l.groups
	}
	groups := slices.Clone(l.groups)
	for i := range groups {
		groups[i].reqs = slices.Clone(groups[i].reqs)
		for n, req := range groups[i].reqs {
			groups[i].reqs[n] = handle.Placed(req)
		}
	}
	return groups
}

// lostEarly is the error of an attempt that lost a member while the others were being taken. It says which and why, and
// does not match ErrLost: nothing was held.
func lostEarly(cause error) error {
	var lost *lock.LostError
	if errors.As(cause, &lost) {
		return fmt.Errorf("%w: lock %q was lost before all were held: %v", lock.ErrUnavailable, lost.Name, lost.Reason)
	}
	return fmt.Errorf("%w: a hold ended before all were held: %v", lock.ErrUnavailable, cause)
}

// gaveUp returns the error of a call that ctx ended; err is the last answer.
func gaveUp(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", err, engine.ContextError(ctx))
}

// giveBack releases what was taken, and waits for that no longer than the caller does.
//
// The release runs in a goroutine that the first member's engine joins when it closes, unless it is closed
// already. It closes done when it ends, whether or not the caller still waits. A caller that stops waiting
// leaves nothing behind: the release goes on without it.
func (l *Lock) giveBack(ctx context.Context, h *heldSet, wait time.Duration) {
	if len(h.sets) == 0 {
		return
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if wait > 0 {
		limited, cancel = context.WithTimeout(ctx, wait)
	}
	defer cancel()
	done := make(chan struct{})
	engine.EngineOf(h.sets[0][0]).Detach(func() {
		defer close(done)
		_ = h.release()
	})
	select {
	case <-done:
	case <-limited.Done():
	}
}

// left returns what is left of MaxWait; 0 if there is none.
func (l *Lock) left(began time.Time) time.Duration {
	if l.maxWait == 0 {
		return 0
	}
	return max(l.maxWait-time.Since(began), time.Nanosecond)
}

// takeAll waits for the first group and tries the others in their order. It returns the group that was busy.
func (h *heldSet) takeAll(
	groups []group, first int, once, answered bool, wait time.Duration,
) (busy int, err error) {
	if err := h.takeOne(groups[first], once, answered, wait); err != nil {
		return first, err
	}
	for i, g := range groups {
		if i == first {
			continue
		}
		if err := h.takeOne(g, true, false, wait); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// takeOne takes one group. Answered says that by the last answer the group is busy.
//
// The levels of a group are contexts, one inside the other. The last becomes the context of the set, so the
// next group is taken inside it, and the loss of any member ends it.
func (h *heldSet) takeOne(g group, once, answered bool, wait time.Duration) error {
	var levels []*hold.Level
	var err error
	if answered {
		g.reqs = slices.Clone(g.reqs)
		busy := *g.reqs[0]
		busy.Busy, g.reqs[0] = true, &busy
	}
	switch {
	case len(g.reqs) > 1 && once:
		levels, err = g.engine.TryLockAll(h.ctx, g.reqs, wait)
	case len(g.reqs) > 1:
		levels, err = g.engine.LockAll(h.ctx, g.reqs, wait)
	default:
		var level *hold.Level
		one := *g.reqs[0]
		one.MaxWait = wait
		if once {
			level, err = g.engine.TryLock(h.ctx, &one)
		} else {
			level, err = g.engine.Lock(h.ctx, &one)
		}
		levels = []*hold.Level{level}
	}
	if err != nil {
		return err
	}
	h.sets = append(h.sets, levels)
	h.ctx = levels[len(levels)-1]
	return nil
}

// apart splits groups that one script cannot serve: one group for each slot or, if they were split that far already,
// one for each member.
//
// Each call makes more groups than there were, so the attempts that start over because of ErrApart end with
// single members, which need no common script.
func apart(groups []group) (smaller []group) {
	at := make(map[place]int)
	for _, g := range groups {
		for _, req := range g.reqs {
			p := place{g.engine, keys.Slot(req.Proto.Key())}
			i, ok := at[p]
			inSets := req.Proto.Traits().InSets
			if !ok || !inSets {
				i = len(smaller)
				smaller = append(smaller, group{engine: g.engine})
				if inSets {
					at[p] = i
				}
			}
			smaller[i].reqs = append(smaller[i].reqs, req)
		}
	}
	if len(smaller) > len(groups) {
		return smaller
	}
	return singles(groups)
}

// singles returns one group for each member.
func singles(groups []group) (single []group) {
	for _, g := range groups {
		for _, req := range g.reqs {
			single = append(single, group{g.engine, []*engine.Request{req}})
		}
	}
	return single
}

// unlock is what Lock returns.
// Only the first call may return the result. A second one must not wait for it or report success, and says
// ErrNotHeld even if the first is still under way.
func (h *heldSet) unlock() error {
	if !h.unlocked.CompareAndSwap(false, true) {
		return lock.ErrNotHeld
	}
	return h.release()
}

// release releases every member, once. The loss of a member does so too; release then returns that loss.
//
// Every set is released even if another one fails: an error must not leave the other members held until their
// leases end. A lost member's own error is the one that matters, and the rest of the joined error says what
// else went wrong.
func (h *heldSet) release() error {
	if !h.begun.CompareAndSwap(false, true) {
		<-h.released
		return h.err
	}
	defer close(h.released)
	errs := make([]error, len(h.sets))
	var wg sync.WaitGroup // in parallel: a member that hangs must not delay the others
	for i, levels := range h.sets[1:] {
		wg.Go(func() { errs[i+1] = engine.UnlockAll(levels) })
	}
	errs[0] = engine.UnlockAll(h.sets[0])
	wg.Wait()
	for _, err := range errs {
		h.err = handle.Join(h.err, err)
	}
	engine.Ended(h.owner, h.err)
	return h.err
}

// sleep reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
