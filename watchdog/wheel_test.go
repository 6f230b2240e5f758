package watchdog

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testTick = 10 * time.Millisecond

// inBubble runs fn with a wheel that is closed behind it.
func inBubble(t *testing.T, fn func(t *testing.T, clock *Clock, w *Wheel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		w := NewWheel(clock, testTick)
		defer w.Close()
		fn(t, clock, w)
	})
}

func requireFired(t *testing.T, p *probe, tick time.Duration) {
	t.Helper()
	require.Len(t, p.fired(), 1, "timer %d for %v", p.id, p.at)
	require.LessOrEqual(t, p.fired()[0], p.at, "timer %d is late", p.id)
	require.Greater(t, p.fired()[0], p.at-tick, "timer %d is early", p.id)
}

func TestWheelDefaultTick(t *testing.T) {
	assert.Equal(t, 10*time.Millisecond, NewWheel(NewClock(), 0).Tick())
	assert.Equal(t, 10*time.Millisecond, NewWheel(NewClock(), -1).Tick())
	assert.Equal(t, time.Second, NewWheel(NewClock(), time.Second).Tick())
}

func TestWheelFiresWithinTheTickBefore(t *testing.T) {
	for name, at := range map[string]time.Duration{
		"one nanosecond after a tick":  10*testTick + 1,
		"one nanosecond before a tick": 10*testTick - 1,
		"on a tick":                    10 * testTick,
		"first tick":                   testTick,
		"last of level 0":              256*testTick - 1,
		"first of level 1":             256 * testTick,
		"minutes":                      7*time.Minute + 3*time.Millisecond,
		"last of level 1":              65536*testTick - 1,
		"first of level 2":             65536 * testTick,
		"hours":                        5*time.Hour + 1,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
				p := newProbe(clock, 0)
				p.schedule(w, at)
				time.Sleep(at/testTick*testTick - 1)
				synctest.Wait()
				require.Empty(t, p.fired())
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				requireFired(t, p, testTick)
				assert.Zero(t, w.Len())
			})
		})
	}
}

func TestWheelFiresThePastAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		time.Sleep(time.Hour)
		for i, at := range []time.Duration{-time.Hour, -1, 0, time.Minute, time.Hour, time.Hour + testTick - 1} {
			p := newProbe(clock, i)
			p.schedule(w, at)
			synctest.Wait()
			require.Equal(t, []time.Duration{time.Hour}, p.fired(), "%v", at)
		}
	})
}

func TestWheelFiresInOrderOfTicks(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		const n = 2000
		var order []time.Duration
		for i, k := range rand.Perm(n) {
			p := newProbe(clock, i)
			p.then = func(p *probe) { order = append(order, p.at) }
			p.schedule(w, time.Duration(k+1)*testTick)
		}
		time.Sleep(n * testTick)
		synctest.Wait()
		require.Len(t, order, n)
		require.IsIncreasing(t, order)
	})
}

func TestWheelRearms(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		later, sooner, same := newProbe(clock, 0), newProbe(clock, 1), newProbe(clock, 2)
		for _, p := range []*probe{later, sooner, same} {
			p.schedule(w, 10*time.Second)
		}
		time.Sleep(time.Second)
		later.schedule(w, 20*time.Second)
		sooner.schedule(w, 5*time.Second)
		same.schedule(w, 10*time.Second)
		assert.Equal(t, 3, w.Len())
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, p := range []*probe{later, sooner, same} {
			requireFired(t, p, testTick)
		}
	})
}

func TestWheelFunctionMaySchedule(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		victim := newProbe(clock, 1)
		victim.schedule(w, 5*time.Second+testTick)
		p := newProbe(clock, 0)
		p.then = func(p *probe) {
			switch len(p.fired()) {
			case 3:
				assert.True(t, w.Cancel(&victim.timer))
				p.schedule(w, 0) // at once
			case 4:
			default:
				assert.False(t, w.Cancel(&p.timer), "it fires at this moment")
				p.schedule(w, p.at+time.Second)
			}
		}
		p.schedule(w, 3*time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		const s = time.Second
		assert.Equal(t, []time.Duration{3 * s, 4 * s, 5 * s, 5 * s}, p.fired())
		assert.Empty(t, victim.fired(), "cancelled by a timer of the tick before")
	})
}

// The watchdog gathers what is due in one tick by this.
func TestWheelPastFiresBehindAllOfTheTick(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		fired := 0
		last := newProbe(clock, -1)
		last.then = func(*probe) { assert.Equal(t, 100, fired) }
		for i := range 100 {
			p := newProbe(clock, i)
			p.then = func(*probe) {
				if fired++; fired == 1 {
					last.schedule(w, 0)
				}
			}
			p.schedule(w, time.Second+time.Duration(i))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, last.fired(), 1)
	})
}

func TestWheelCancel(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		p := newProbe(clock, 0)
		assert.False(t, w.Cancel(&p.timer), "never armed")
		p.schedule(w, time.Second)
		assert.True(t, w.Cancel(&p.timer))
		assert.False(t, w.Cancel(&p.timer), "cancelled before")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Empty(t, p.fired())
		p.schedule(w, 3*time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		requireFired(t, p, testTick)
		assert.False(t, w.Cancel(&p.timer), "fired")
	})
}

func TestTimerMustBeInitialised(t *testing.T) {
	w := NewWheel(NewClock(), 0)
	defer w.Close()
	assert.Panics(t, func() { w.Schedule(&Timer{}, 0) })
}
