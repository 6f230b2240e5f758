package leader

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/holdfast-go/holdfast/internal/handle"
	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// ErrNoLeader means that nobody leads, or that the leader has not said so yet.
var ErrNoLeader = errors.New("holdfast: nobody leads")

// Election is one candidate's handle on an election. It holds nothing: the context that Campaign returns does. All
// methods are safe for concurrent use.
type Election struct {
	lock  *lock.Lock
	value string
	every time.Duration
	err   error // a bad argument; returned by every call

	trouble trouble // of Run
}

// Leader is who leads.
type Leader struct {
	Value string    // what it says of itself: see [Value] and [Election.Proclaim]
	Term  int64     // the fencing token of its term
	Since time.Time // by the clock of the store's server
}

// Option adjusts an Election.
type Option func(*Election)

// Value is what this candidate says of itself when it leads, its address for instance: at most 4 KiB.
func Value(value string) Option { return func(e *Election) { e.value = value } }

// ObserveEvery is how often Observe asks who leads: about so often, at random. Zero means a second.
func ObserveEvery(d time.Duration) Option { return func(e *Election) { e.every = d } }

const maxValue = 4 << 10

// New returns a handle on the election that a lock decides: its holder leads. The lock is any whose holds exclude
// one another, of rlock, fairlock, redlock, or the write side of rwlock, and its options are those of the terms. Only
// locks of rlock and fairlock tell others who leads; over the others Current, Observe and Proclaim, and Campaign with a
// [Value], return a *lock.ArgumentError.
func New(l *lock.Lock, opts ...Option) *Election {
	e := &Election{lock: l}
	for _, opt := range opts {
		if opt != nil {
			opt(e)
		}
	}
	if l == nil {
		e.err = &lock.ArgumentError{Name: "lock", Problem: "must not be nil"}
		return e
	}
	parts := (*handle.Lock)(l).Parts()
	e.trouble.engine = parts.Engine
	switch {
	case parts.Err == nil && parts.Engine != nil && !excludes(parts.Request.Proto):
		e.err = &lock.ArgumentError{Name: "lock", Problem: "must exclude others: many hold the read side at a time"}
	case e.every < 0:
		e.err = &lock.ArgumentError{Name: "ObserveEvery", Value: e.every, Problem: "must not be negative"}
	case len(e.value) > maxValue:
		e.err = tooLong(e.value)
	case e.value != "":
		_, e.err = e.notes()
	}
	if e.every == 0 {
		e.every = time.Second
	}
	return e
}

// excludes reports that one of its holds excludes another one.
func excludes(rules store.Rules) bool { return rules.Excludes(rules.Mode()) }

// failed is the error of every call: of an argument of New, or that the election did not come from there.
func (e *Election) failed() error {
	if e == nil || e.lock == nil && e.err == nil {
		return &lock.ArgumentError{Name: "election", Problem: "must come from leader.New"}
	}
	return e.err
}

func tooLong(value string) error {
	return &lock.ArgumentError{Name: "value", Value: len(value), Problem: "must be at most 4096 bytes long"}
}

// notes returns the lock's parts if the lock tells others who holds it.
func (e *Election) notes() (*handle.Parts, error) {
	if err := e.failed(); err != nil {
		return nil, err
	}
	parts := (*handle.Lock)(e.lock).Parts()
	switch {
	case parts.Err != nil:
		return nil, parts.Err
	case parts.Engine == nil:
		return nil, &lock.ArgumentError{Name: "lock", Problem: handle.NoLock}
	case !parts.Request.Proto.Traits().Notes:
		return nil, &lock.ArgumentError{Name: "lock", Problem: "must be a reentrant or a fair lock to tell who leads"}
	}
	return parts, nil
}

// Name is the name of the lock.
func (e *Election) Name() string {
	if e == nil || e.lock == nil {
		return ""
	}
	return e.lock.Name()
}

// Campaign waits until this candidate leads, and returns its term as a context, which ends before anybody else can
// lead. Its cause says why: a *lock.LostError after a loss, lock.ErrReleased after resign, lock.ErrClosed after Close.
// When Campaign returns nil, the others can see who leads.
//
// Resign ends the term and lets the next candidate lead. It is the unlock of the lock, and returns within
// ReleaseTimeout like that one: call it once, also after a loss.
//
// On error, Campaign returns the context that it was given, and a resign that only returns lock.ErrNotHeld. The errors
// are those of Lock. A Campaign within its own term returns that term once more, to be resigned once more.
// Without a [Value] it changes nothing of what the leader says of itself; what it says otherwise, or Proclaim under its
// term, goes with its resign, and what the outer term said counts again. If the store cannot be told of that, resign
// says so.
func (e *Election) Campaign(ctx context.Context) (term context.Context, resign func() error, err error) {
	if err = e.failed(); err != nil {
		return ctx, func() error { return lock.ErrNotHeld }, err
	}
	return e.campaign(ctx, e.lock)
}

// campaign is Campaign for a lock that may tell more than that of the election.
func (e *Election) campaign(
	ctx context.Context, candidate *lock.Lock,
) (term context.Context, resign func() error, err error) {
	term, unlock, err := candidate.Lock(ctx)
	if err != nil {
		return ctx, unlock, err
	}
	parts, err := e.notes()
	if err != nil { // nobody can be told, which New allowed
		return term, unlock, nil
	}
	level := term.(*hold.Level) // as every lock whose holder can say something of itself
	_ = unlock                  // Resign unlocks the level
	resign = func() error { return parts.Engine.Resign(level, parts.Request.Proto) }
	if e.value == "" && parts.Engine.Speaks(level) {
		return term, resign, nil // what the outer term says stands
	}
	if err = parts.Engine.Note(term, parts.Request.Proto, e.value); err != nil {
		_ = resign() // an unconfirmed release would say that this candidate has led
		return ctx, func() error { return lock.ErrNotHeld }, err
	}
	return term, resign, nil
}

// Term returns the hold of the term that ctx carries, without asking the store: its Fence is the term, which is greater
// than that of every leader before, and from ValidUntil on another process may lead. The error is that of Held.
func (e *Election) Term(ctx context.Context) (lock.Hold, error) {
	if err := e.failed(); err != nil {
		return lock.Hold{}, err
	}
	return e.lock.Held(ctx)
}

// Proclaim changes what the leader says of itself. Ctx is that of its term, or comes from it.
func (e *Election) Proclaim(ctx context.Context, value string) error {
	parts, err := e.notes()
	switch {
	case err != nil:
		return err
	case ctx == nil:
		return &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	case len(value) > maxValue:
		return tooLong(value)
	}
	return parts.Engine.Note(ctx, parts.Request.Proto, value)
}

// Current asks the store who leads now. If nobody does the error is ErrNoLeader. A leader that died leads until its
// lease ends.
func (e *Election) Current(ctx context.Context) (Leader, error) {
	parts, err := e.notes()
	if err != nil {
		return Leader{}, err
	}
	if ctx == nil {
		return Leader{}, &lock.ArgumentError{Name: "ctx", Problem: "must not be nil"}
	}
	note, err := parts.Engine.Noted(ctx, parts.Request.Proto)
	switch {
	case err != nil:
		return Leader{}, err
	case note == (store.Note{}):
		return Leader{}, ErrNoLeader
	}
	return Leader{Value: note.Text, Term: note.Fence, Since: time.UnixMicro(note.Since)}, nil
}

// Observe yields who leads, now and whenever that or its value has changed, until ctx ends or the loop is left. Without
// a leader it yields ErrNoLeader, once; it yields each other error, and goes on, but for a bad argument, which ends it.
// It asks every [ObserveEvery], so terms in between may be missed.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		var last Leader
		var none, known bool
		for ctx == nil || ctx.Err() == nil {
			now, err := e.Current(ctx)
			_, bad := errors.AsType[*lock.ArgumentError](err)
			switch changed := !known || none != (err != nil) || now != last; {
			case bad:
				yield(Leader{}, err)
				return
			case ctx.Err() != nil:
				return
			case err != nil && !errors.Is(err, ErrNoLeader):
				if !yield(Leader{}, err) {
					return
				}
			case changed:
				last, none, known = now, err != nil, true
				if !yield(now, err) {
					return
				}
			}
			timer := time.NewTimer(e.every/2 + rand.N(e.every))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
			}
		}
	}
}
