package faulttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/rlock"
)

// onceOp is one operation, up to the point where the hold has one level, or is over.
type onceOp struct {
	name, script string
	held         bool // the hold is not over
	run          func(l *onceLab, fault func() *onceShot) (onceHold, *onceShot)
}

var onceOps = []onceOp{
	{"acquire", "acquire", true, onceAcquire},
	{"enter", "levels", true, onceEnter},
	{"leave", "levels", true, onceLeave},
	{"release before another", "release", true, onceReleaseBefore},
	{"export", "adopt", true, onceExport},
	{"import", "adopt", true, onceImport},
	{"renew", "renew", true, onceRenew},
	{"release", "release", false, onceRelease},
}

func onceAcquire(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	s := fault()
	h := l.takeOnly(l.lock, l.Context())
	s.struck(l)
	l.fresh(h)
	return h, s
}

// onceEnter enters a second level, of which Redis is told, and leaves it.
func onceEnter(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	h := l.take(l.lock)
	s := fault()
	inner := l.takeOnly(l.lock, h.ctx)
	s.struck(l)
	l.stands(inner, 2)
	require.NoError(l, inner.unlock())
	l.stands(h, 1)
	return h, s
}

func onceLeave(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	h := l.take(l.lock)
	inner := l.takeOnly(l.lock, h.ctx)
	l.stands(inner, 2)
	s := fault()
	require.NoError(l, inner.unlock())
	s.struck(l)
	require.ErrorIs(l, inner.unlock(), rlock.ErrNotHeld)
	require.ErrorIs(l, context.Cause(inner.ctx), rlock.ErrReleased)
	l.stands(h, 1)
	return h, s
}

// onceReleaseBefore unlocks while another goroutine is queued.
func onceReleaseBefore(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	from := l.take(l.lock)
	next := l.stand(l.Context())
	s := fault()
	require.NoError(l, from.unlock())
	s.struck(l)
	got := <-next
	require.NoError(l, got.err)
	l.fresh(got.onceHold)
	return got.onceHold, s
}

// onceStood is the result of a queued call of Lock.
type onceStood struct {
	onceHold
	err error
}

// stand starts a goroutine that calls Lock, and returns when that call is queued.
func (l *onceLab) stand(ctx context.Context) <-chan onceStood {
	l.Helper()
	next, before := make(chan onceStood, 1), l.own.Stats().Waiters
	go func() {
		ctx, unlock, err := l.lock.Lock(ctx)
		next <- onceStood{onceHold{l.lock, ctx, unlock}, err}
	}()
	l.until(func() bool { return l.own.Stats().Waiters > before }, "it stands in the queue")
	return next
}

// onceImport takes over what the rival exported. The token of the hold stays the same.
func onceImport(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	from := l.take(l.rival)
	passport, err := l.rival.Export(from.ctx)
	require.NoError(l, err)
	s := fault()
	ctx, unlock, err := l.lock.Import(l.Context(), passport)
	require.NoError(l, err)
	s.struck(l)
	return l.imported(onceHold{l.lock, ctx, unlock}, passport), s
}

// onceExport lets a hold go, which gives it another id, and the rival takes it over.
func onceExport(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	from := l.take(l.lock)
	s := fault()
	passport, err := l.lock.Export(from.ctx)
	require.NoError(l, err)
	s.struck(l)
	require.ErrorIs(l, context.Cause(from.ctx), rlock.ErrReleased)
	require.ErrorIs(l, from.unlock(), rlock.ErrNotHeld)
	ctx, unlock, err := l.rival.Import(l.Context(), passport)
	require.NoError(l, err)
	return l.imported(onceHold{l.rival, ctx, unlock}, passport), s
}

// imported checks a hold that was taken over: a new id, the same token, and nobody else gets it.
func (l *onceLab) imported(h onceHold, passport string) onceHold {
	l.Helper()
	held, err := h.lock.Held(h.ctx)
	require.NoError(l, err)
	require.NotEqual(l, l.id, held.ID)
	l.id = held.ID
	l.stands(h, 1)
	for _, lock := range []*rlock.Lock{l.lock, l.rival} {
		_, _, err = lock.Import(l.Context(), passport)
		require.ErrorIs(l, err, rlock.ErrNotHeld)
	}
	return h
}

// onceRenew waits for the renewal under test, and for one that is confirmed.
func onceRenew(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	h := l.take(l.lock)
	before := 0
	l.note(func() { before = l.renewed })
	s := fault()
	s.struck(l)
	l.until(func() bool { return l.renewed > before }, "it is renewed")
	l.stands(h, 1)
	return h, s
}

func onceRelease(l *onceLab, fault func() *onceShot) (onceHold, *onceShot) {
	h := l.take(l.lock)
	s := fault()
	require.NoError(l, h.unlock())
	s.struck(l)
	require.ErrorIs(l, context.Cause(h.ctx), rlock.ErrReleased)
	require.ErrorIs(l, h.unlock(), rlock.ErrNotHeld)
	l.free(false)
	return onceHold{}, s
}

// G3, need 1: whatever happens to one script call, it takes effect once. Counts and tokens are exact, a request
// that had to be repeated is no error, no later hold is touched by an old copy, and nothing is left in
// Redis for longer than some command limits (bugs 1, 3, 4 and 5; interleavings 7, 13, 14, 15).
func TestEveryRequestTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for _, op := range onceOps {
		for _, fault := range onceFaults(op.held) {
			t.Run(op.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				newOnceLab(t).play(op, fault)
			})
		}
	}
}

func (l *onceLab) play(op onceOp, fault onceFault) {
	before := l.released()
	h, s := op.run(l, func() *onceShot { return l.inject(fault, luacall.SHA(op.script)) })
	if op.held {
		l.live(h, s)
	}
	acquired := op.name == "acquire"
	if acquired && !fault.late {
		// A copy of an acquisition that succeeded at once cannot be told from a request until its
		// not-after. From then on it can.
		l.passed()
	}
	if acquired && fault.late {
		l.releases(before + 2) // the unlock's, and the first look at what may be left, in vain
	}
	s.deliver(l, whenFree)
	l.free(acquired && fault.late)
	l.later(s, l.lock, underOwn)
	l.later(s, l.rival, underRival)
	l.nothingLeft()
}

// live goes on with the hold under test until it is unlocked.
func (l *onceLab) live(h onceHold, s *onceShot) {
	l.Helper()
	inner := l.takeOnly(h.lock, h.ctx)
	l.stands(inner, 2)
	s.deliver(l, whileNested)
	l.recounts(inner, 2)
	require.NoError(l, inner.unlock())
	l.stands(h, 1)
	s.deliver(l, whileAlone)
	l.recounts(h, 1)
	require.NoError(l, h.unlock())
}

// recounts checks that the hold stands after the delivery of a late copy. A copy of a step of the count may have made
// that wrong by one; the steps of two more levels, and of their end, set it right.
func (l *onceLab) recounts(h onceHold, levels int) {
	l.Helper()
	inner := l.takeOnly(h.lock, h.ctx)
	innermost := l.takeOnly(h.lock, inner.ctx)
	l.stands(innermost, levels+2)
	require.NoError(l, innermost.unlock())
	require.NoError(l, inner.unlock())
	l.stands(h, levels)
}

// later takes the lock anew, and checks that a copy which comes then does not touch that hold.
func (l *onceLab) later(s *onceShot, lock *rlock.Lock, moment onceMoment) {
	l.Helper()
	h := l.take(lock)
	s.deliver(l, moment)
	l.stands(h, 1)
	require.NoError(l, h.unlock())
	l.free(false)
}
