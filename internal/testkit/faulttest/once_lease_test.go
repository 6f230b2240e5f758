package faulttest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

// G3, G10: an inner level gets its own lease also where the reply of the re-entry was lost, and the
// answer to its second sending is "done before". Validity counts from the first sending then: Redis
// keeps the lock that long, so the end of the outer lease must not end the inner level.
func TestInnerLeaseOfAResentReentry(t *testing.T) {
	t.Parallel()
	const short, long = 600 * time.Millisecond, 2 * time.Second
	for _, fault := range onceFaults(false)[:5] {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			outerLock := rlock.New(l.own, l.name, rlock.FixedLease(short))
			innerLock := rlock.New(l.own, l.name, rlock.FixedLease(long))
			outer := l.take(outerLock)
			fault.times = min(fault.times, 1) // or it would take longer than the outer lease
			s := l.inject(fault, luacall.SHA("reenter"))
			sent := time.Now()
			inner := l.takeOnly(innerLock, outer.ctx)
			s.struck(t)
			held, err := innerLock.Held(inner.ctx)
			require.NoError(t, err)
			l.stands(inner, 2)
			require.True(t, held.ValidUntil.After(sent.Add(long-long/10)), "its lease is its own")

			select {
			case <-outer.ctx.Done():
			case <-time.After(oncePatience):
				t.Fatal("the outer level does not end")
			}
			require.ErrorIs(t, outer.unlock(), rlock.ErrLost)
			require.NoError(t, inner.unlock())
			l.free(false)
		})
	}
}

// G2, G10: two changes of one hold cross. The level with the longest lease leaves, and Redis sets the
// TTL back; the reply to a change that was made before, and asked for the long lease, is read after
// that. It must not bring the long validity back.
func TestValidityWhenChangesOfOneHoldCross(t *testing.T) {
	t.Parallel()
	const long = 20 * time.Second
	for _, script := range []string{"reenter", "leave"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			outer := l.take(l.lock)
			longest := l.takeOnly(rlock.New(l.own, l.name, rlock.FixedLease(long)), outer.ctx)
			short := rlock.New(l.own, l.name, rlock.FixedLease(long/2))
			change := func() (onceHold, error) { // one more level
				ctx, unlock, err := short.Lock(outer.ctx)
				return onceHold{short, ctx, unlock}, err
			}
			levels := 2
			if script == "leave" { // one less
				other := l.takeOnly(short, outer.ctx)
				change = func() (onceHold, error) { return outer, other.unlock() }
				levels = 1
			}
			gate := faultproxy.NewGate()
			held := l.proxy.On(faultproxy.Script(luacall.SHA(script)), faultproxy.HoldReply(gate))
			changed := make(chan onceStood, 1)
			go func() {
				h, err := change()
				changed <- onceStood{h, err}
			}()
			held.Wait(t, 1)
			require.NoError(t, longest.unlock())
			gate.Open()
			got := <-changed
			require.NoError(t, got.err)
			l.stands(got.onceHold, levels)
			l.stands(outer, levels)
			if script == "reenter" {
				require.NoError(t, got.unlock())
			}
			require.NoError(t, outer.unlock())
			l.free(false)
			l.nothingLeft()
		})
	}
}
