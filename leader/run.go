package leader

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	firstPause = 100 * time.Millisecond // before Run campaigns again after an error
	lastPause  = 5 * time.Second
)

// Run campaigns, calls fn with the term while this candidate leads, resigns when fn returns, and campaigns again if the
// term was lost. It ends with ctx, and returns its cause; if the term was not lost, with nil or a *lock.WorkError that
// has fn's error and resign's; and with an error that no second attempt mends: a closed client, a bad argument, a key
// that is something else's. A store that refuses this candidate (wrong credentials, or a right that its user lacks)
// ends Run too, unless the store has accepted the candidate before: that is a mistake in a set-up. The error then
// matches lock.ErrUnavailable, and says what was refused.
//
// All other errors are followed by another campaign after a pause: a store that does not answer, and a refusal of a
// candidate that was accepted before, because the password that is being replaced may be in place soon. The client's
// Logger has a line when campaigns begin to fail, and one when the store answers one again. [Election.Err] is the error
// in between.
//
// Fn must return when its context ends.
func (e *Election) Run(ctx context.Context, fn func(term context.Context) error) error {
	switch err := e.failed(); {
	case err != nil:
		return err
	case ctx == nil:
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	case fn == nil:
		return &lock.ArgumentError{Name: "fn", Problem: "must not be nil"}
	}
	accepted, candidate := false, e.lock
	if parts := (*handle.Lock)(e.lock).Parts(); parts.Engine != nil {
		watched := *parts
		watched.Request.OnBusy = func() { accepted = true; e.trouble.end(e.Name()) }
		candidate = (*lock.Lock)(handle.New(&watched))
	}
	pause := firstPause
	for {
		again, led, err := e.once(ctx, candidate, fn)
		accepted = accepted || led
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case led:
			pause = firstPause
		case err != nil:
			e.trouble.begin(e.Name(), err)
		}
		if !again || !accepted && store.Denied(err) {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
		pause = min(2*pause, lastPause)
	}
}

// once is one campaign of Run and the term that comes of it.
func (e *Election) once(
	ctx context.Context, candidate *lock.Lock, fn func(term context.Context) error,
) (again, led bool, err error) {
	term, resign, err := e.campaign(ctx, candidate)
	if err != nil {
		var bad *lock.ArgumentError
		final := errors.Is(err, lock.ErrClosed) || errors.Is(err, lock.ErrKeyConflict) || errors.As(err, &bad)
		return !final, false, err
	}
	e.trouble.end(e.Name())
	returned := false
	defer func() {
		if !returned { // fn panicked
			_ = resign()
		}
	}()
	err = fn(term)
	returned = true
	left := resign()
	if errors.Is(left, lock.ErrLost) {
		return true, true, left
	}
	return false, true, lock.Join(err, left)
}

// Err is the error of the last campaign of [Election.Run]. It is nil before the first one, and as soon as the store has
// answered a later one: when this candidate leads, or waits for another one's term to end.
func (e *Election) Err() error {
	if e == nil {
		return e.failed()
	}
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	return e.trouble.err
}

// trouble is why campaigns of Run fail at present. It is told when it begins, when it turns from a store that does not
// answer into one that refuses or back, and when it ends: a campaign may fail every few seconds for days.
type trouble struct {
	engine *engine.Engine // whose log has it; nil: the lock has none

	mu  sync.Mutex // guards all below
	err error      // nil: there is none
}

func (t *trouble) begin(name string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.err
	t.err = err
	if t.engine == nil || before != nil && store.Denied(before) == store.Denied(err) {
		return
	}
	t.engine.Warn("leader: the campaign failed", "lock", name, "error", err)
}

func (t *trouble) end(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.err
	t.err = nil
	if t.engine != nil && before != nil {
		t.engine.Info("leader: the campaign is answered again", "lock", name)
	}
}
