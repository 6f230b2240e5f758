package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Bug of our own: a request whose reply came after the lease made a grant that the wheel ended before it was listed, and
// that nobody took off any more. What ends a grant needs the mutex under which it is made and listed.
func TestAGrantThatIsOverAtOnceIsInNobodysWay(t *testing.T) {
	f := newFloor(t)
	f.come("w1", "w2")
	w := f.waiters["w1"]
	w.key.mu.Lock()
	g := f.granted(w.key, "w1")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = g.End(hold.Lost, nil)
		g.key.drop(g)
	}()
	time.Sleep(time.Millisecond)
	w.key.winLocked(w, g)
	w.key.unlock()
	<-ended
	f.asking("w2")
	f.waiters["w2"].leave()
	f.empty()
}

// Bug of our own: a lost hold was in the way of its own process until what had found the loss took it off. Its owner had
// learnt of the loss by then, and had unlocked; a TryLock was told that another caller held the lock.
func TestALostHoldThatIsUnlockedIsInNobodysWay(t *testing.T) {
	f := newFloor(t)
	k := f.table.lock(side{key: "k"})
	g, h := f.engine.newGrantLocked(k, floorRequest("w1"), f.engine.newID(), 1, f.engine.clock.Now(), 0)
	k.listLocked(g)
	k.unlock()
	outer, ok := attach(t.Context(), h, call{Request: floorRequest("w1")})
	require.True(t, ok)
	inner := outer.Hold().Nest(t.Context(), outer, 0, false)
	require.NotNil(t, inner)
	f.come("w2")
	require.NotNil(t, g.ending(hold.Gone, errHeldOver))
	f.asking()
	require.ErrorIs(t, Unlock(outer), errHeldOver)
	f.asking() // the other level's context goes on
	require.NoError(t, inner.Err())
	require.ErrorIs(t, Unlock(inner), errHeldOver)
	require.ErrorIs(t, context.Cause(inner), errHeldOver)
	f.asking("w2")
	g.key.drop(g) // as what found the loss does
	f.asking("w2")
	f.waiters["w2"].leave()
	f.empty()
}

// Bug of our own: a hold that had just ended when its renewal was due had the store renew nothing, which crashed that
// of a redlock.
func TestARenewalOfHoldsThatAreOverSendsNothing(t *testing.T) {
	f := newFloor(t) // which has no store
	dead := f.hold("w1")
	require.True(t, dead.Claim())
	_, ended := dead.End(hold.Released, nil)
	require.True(t, ended)
	results := make([]watchdog.Result, 1)
	f.engine.renew(t.Context(), "", []*watchdog.Lease{&dead.Lease}, results)
	require.ErrorIs(t, results[0].Err, errHeldOver)
}

// Where a process could not renew for a lease, and the store is the first to say so, its holds are not told to be gone
// from the store, as if somebody had taken them away. (defect G73)
func TestAHoldWhoseTimeIsOverIsNotTakenAway(t *testing.T) {
	for age, want := range map[time.Duration]hold.Reason{0: hold.Gone, 2 * floorLease: hold.Expired} {
		synctest.Test(t, func(t *testing.T) { // time stands still, so the watchdog does not come first
			f := newFloor(t)
			var told hold.Reason
			f.engine.cfg.Errors.Lost = func(_ store.Rules, reason hold.Reason, _ error) error {
				told = reason
				return errHeldOver
			}
			k := f.table.lock(side{key: "k"})
			req := floorRequest("w1")
			req.Lease = floorLease
			g, _ := f.engine.newGrantLocked(k, req, f.engine.newID(), 1, f.engine.clock.Now()-age, 0)
			k.listLocked(g)
			k.unlock()
			require.NotNil(t, g.losing(hold.Gone, errHeldOver))
			require.Equal(t, want, told)
		})
	}
}
