package engine

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/internal/localqueue"
	"github.com/holdfast-go/holdfast/internal/store"
)

// long is a turn after which a series is over.
const long = time.Second

// turn has a waiter come, have a turn of a key that nobody else of its process waits for, and release it.
func (f *floor) turn(key string, ends runEnd) {
	f.t.Helper()
	w := f.engine.newWaiter(keyed(key), f.engine.clock.Now(), outer{})
	require.True(f.t, f.table.enter(w, false))
	w.key.mu.Lock()
	g, h := f.engine.newGrantLocked(w.key, keyed(key), w.ID, int64(f.engine.nonce.Load()), f.engine.clock.Now(), 0)
	w.key.winLocked(w, g)
	w.key.unlock()
	time.Sleep(long)
	g.key.released(g, h.Start(), ends)
}

func keyed(key string) *Request {
	return &Request{Proto: side{mode: "w", key: key}, Want: floorWant}
}

// out is until when a caller that comes to a key now leaves it to others, if it does not listen.
func (f *floor) out(key string) time.Duration {
	w := f.engine.newWaiter(keyed(key), f.engine.clock.Now(), outer{})
	require.True(f.t, f.table.enter(w, false))
	w.leave()
	return max(w.out, w.left)
}

// one is the end of a run of which one other process heard.
var one = runEnd{over: true, receivers: 1, others: 1}

// A goroutine that unlocks and locks again finds what its process owes; a goroutine that comes later finds nothing (defect F3).
func TestWhatIsOwedOutlivesTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		f.turn("k", one)
		require.Equal(t, f.engine.clock.Now()+localqueue.RunPause, f.out("k"))
		time.Sleep(localqueue.RunPause)
		require.Zero(t, f.out("k"))
		f.empty()
	})
}

// A lock that was kept is left to others for longer, unless one of them has asked for it: a client that does not say
// that it waits may be slow to wake. However short the last turn was, it is no series that goes on.
func TestALockThatWasKeptIsLeftForLonger(t *testing.T) {
	for asked, pauses := range map[bool][2]time.Duration{
		false: {localqueue.KeptPause * 3 / 4, localqueue.KeptPause * 5 / 4},
		true:  {localqueue.RunPause, localqueue.RunPause},
	} {
		keptIsLeftFor(t, asked, pauses)
	}
}

func keptIsLeftFor(t *testing.T, asked bool, pauses [2]time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		keeps := keyed("k")
		keeps.Keep = KeepMost
		w := f.engine.newWaiter(keeps, f.engine.clock.Now(), outer{})
		require.True(t, f.table.enter(w, false))
		w.key.mu.Lock()
		g, _ := f.engine.newGrantLocked(w.key, keeps, w.ID, 1, f.engine.clock.Now(), 0)
		w.key.winLocked(w, g)
		w.key.unlock()
		require.NotNil(t, g.kept)
		g.kept.wanted = asked
		time.Sleep(KeepMost / 2) // after all of KeepMost a lock is left for as long, even if nobody heard of its end
		g.key.released(g, f.engine.clock.Now()-time.Millisecond, one)
		pause := f.out("k") - f.engine.clock.Now()
		require.GreaterOrEqual(t, pause, pauses[0])
		require.LessOrEqual(t, pause, pauses[1])
		require.Equal(t, !asked, f.table.leaves(keeps.Proto, f.engine.clock.Now()))
		time.Sleep(pause - time.Microsecond)
		require.NotZero(t, f.out("k"))
		time.Sleep(time.Microsecond)
		require.Zero(t, f.out("k"))
		f.empty()
	})
}

// Nothing is kept of a release that nobody else heard, or that no other process is known to want: a store that cannot
// count assumes one.
func TestNothingIsOwedWhereNobodyHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		for _, ends := range []runEnd{{}, {over: true}, {over: true, others: 1}, {over: true, receivers: -1, others: 1}} {
			f.turn("k", ends)
			f.empty()
		}
		heard := store.Heard{Subscription: 1}
		f.turn("k", runEnd{over: true, others: 1, heard: heard}) // it had to wait for another one itself
		require.NotZero(t, f.out("k"))
	})
}

// However many names a process takes once, a bounded number of them is remembered, the newest.
func TestFewKeysAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFloor(t)
		n := 4 * maxDeserted
		var grants []*Grant
		for i := range n {
			g, _ := f.engine.add(keyed(fmt.Sprint(i)), f.engine.newID(), int64(i), f.engine.clock.Now(), 0, hold.Retention{})
			grants = append(grants, g)
		}
		time.Sleep(long)
		for _, g := range grants {
			g.key.released(g, g.Current().Start(), one)
		}
		f.out("another")
		require.Equal(t, maxDeserted, f.keys())
		require.NotZero(t, f.out(fmt.Sprint(n-1)))
		require.Zero(t, f.out("0"))
		time.Sleep(localqueue.RunPause)
		f.out("another")
		f.empty()
	})
}
