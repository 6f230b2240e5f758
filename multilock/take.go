package multilock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	firstPause = time.Millisecond // before the first retry of everything
	lastPause  = 100 * time.Millisecond
)

// heldSet is the state of one Lock call.
type heldSet struct {
	ctx  context.Context
	sets [][]*hold.Level // levels taken together, in the order in which they were taken

	unlocked atomic.Bool
	once     sync.Once
	err      error // the error that once stored
}

func notHeld() error { return rlock.ErrNotHeld }

func (l *Lock) take(ctx context.Context, once bool) (context.Context, func() error, error) {
	if err := l.check(ctx); err != nil {
		return ctx, notHeld, err
	}
	for _, g := range l.groups {
		if g.engine.Closed() {
			return ctx, notHeld, rlock.ErrClosed
		}
	}
	h, err := l.attempts(ctx, once)
	if err != nil {
		return ctx, notHeld, err
	}
	for _, levels := range h.sets {
		engine.Tie(levels, func() { h.release() })
	}
	return h.ctx, h.unlock, nil
}

// attempts takes everything. When a group is busy it starts again, holding nothing, with that group first.
func (l *Lock) attempts(ctx context.Context, once bool) (*heldSet, error) {
	groups, first, answered := l.groups, 0, false
	var last error // the last answer: one of them is busy
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		h := &heldSet{ctx: ctx}
		busy, err := h.takeAll(groups, first, once, answered, l.left(began))
		if err == nil {
			return h, nil
		}
		lost := ctx.Err() == nil && h.ctx.Err() != nil
		l.giveBack(ctx, h, l.left(began))
		switch {
		case errors.Is(err, store.ErrApart):
			groups, first = apart(groups), 0
			continue
		case once && lost:
			return nil, fmt.Errorf("%w: %q was lost before all were held", rlock.ErrUnavailable, l.Names()[busy])
		case ctx.Err() != nil && last != nil && !errors.Is(err, rlock.ErrBusy) && !errors.Is(err, rlock.ErrUnavailable):
			return nil, ended(ctx, last)
		case ctx.Err() != nil:
			return nil, ended(ctx, err)
		case once || busy == first && !lost, !errors.Is(err, rlock.ErrBusy) && !lost:
			return nil, err
		}
		first, answered, last = busy, true, err
		rest := pause/2 + rand.N(pause)
		if l.maxWait > 0 {
			rest = min(rest, l.left(began))
		}
		if !sleep(ctx, rest) {
			return nil, ended(ctx, err)
		}
		if l.maxWait > 0 && time.Since(began) >= l.maxWait {
			return nil, err
		}
	}
}

// ended returns the error of a call that ctx ended; err is the last answer.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", err, engine.ContextError(ctx))
}

// giveBack releases what was taken, and waits for that no longer than the caller does.
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
func (h *heldSet) takeOne(g group, once, answered bool, wait time.Duration) error {
	var levels []*hold.Level
	var err error
	if answered {
		g.reqs = slices.Clone(g.reqs)
		g.reqs[0].Busy = true
	}
	switch {
	case len(g.reqs) > 1 && once:
		levels, err = g.engine.TryLockAll(h.ctx, g.reqs, wait)
	case len(g.reqs) > 1:
		levels, err = g.engine.LockAll(h.ctx, g.reqs, wait)
	default:
		var level *hold.Level
		req := g.reqs[0]
		req.MaxWait = wait
		if once {
			level, err = g.engine.TryLock(h.ctx, req)
		} else {
			level, err = g.engine.Lock(h.ctx, req)
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
func apart(groups []group) (smaller []group) {
	at := make(map[place]int)
	for _, g := range groups {
		for _, req := range g.reqs {
			p := place{g.engine, keys.Slot(req.Proto.Key())}
			i, ok := at[p]
			joins := req.Proto.Traits().Joins
			if !ok || !joins {
				i = len(smaller)
				smaller = append(smaller, group{engine: g.engine})
				if joins {
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
			single = append(single, group{g.engine, []engine.Request{req}})
		}
	}
	return single
}

// unlock is what Lock returns.
func (h *heldSet) unlock() error {
	if !h.unlocked.CompareAndSwap(false, true) {
		return rlock.ErrNotHeld
	}
	return h.release()
}

// release releases every member, once. The loss of a member does so too; release then returns that loss.
func (h *heldSet) release() error {
	h.once.Do(func() {
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
	})
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
