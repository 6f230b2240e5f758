package watchdog

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of a Cancel and a firing at the same instant exactly one has its way.
func TestWheelCancelFromOtherGoroutines(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		const n = 2000
		var fired, cancelled atomic.Int64
		timers := make([]Timer, n)
		var all sync.WaitGroup
		for i := range timers {
			timers[i].Init(func(any) { fired.Add(1) }, nil)
			w.Schedule(&timers[i], time.Second)
		}
		for g := range 4 {
			all.Go(func() {
				time.Sleep(time.Second)
				for i := g; i < n; i += 4 {
					if w.Cancel(&timers[i]) {
						cancelled.Add(1)
					}
				}
			})
		}
		all.Wait()
		synctest.Wait()
		assert.EqualValues(t, n, fired.Load()+cancelled.Load())
		assert.Zero(t, w.Len())
	})
}

func TestWheelConcurrentUse(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		var all sync.WaitGroup
		var fired, armed, cancelled atomic.Int64
		for g := range 4 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 1))
				timers := make([]Timer, 50)
				for i := range timers {
					timers[i].Init(func(any) { fired.Add(1) }, nil)
				}
				for range 3000 {
					timer := &timers[random.IntN(len(timers))]
					if w.Cancel(timer) {
						cancelled.Add(1)
					} else {
						armed.Add(1)
						w.Schedule(timer, clock.Now()+time.Duration(random.Int64N(int64(5*time.Second))))
					}
					if random.IntN(4) == 0 {
						time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Zero(t, w.Len())
		assert.Equal(t, armed.Load(), fired.Load()+cancelled.Load())
	})
}

func TestWheelNoticesASuspension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, clock := newSuspendableClock()
		w := NewWheel(clock, testTick)
		defer w.Close()
		due, open := newProbe(clock, 0), newProbe(clock, 1)
		due.schedule(w, 10*time.Hour)
		open.schedule(w, 11*time.Hour)
		time.Sleep(time.Hour)
		system.suspend(9*time.Hour + 30*time.Minute)
		time.Sleep(maxNap)
		synctest.Wait()
		require.Len(t, due.fired(), 1, "it was due during the suspension")
		assert.LessOrEqual(t, due.fired()[0], 10*time.Hour+30*time.Minute+maxNap)
		assert.Empty(t, open.fired())
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		requireFired(t, open, testTick)
	})
}

// Years of jump over many timers must cost by the timers, not by the ticks.
func TestWheelJumpsOverEmptyTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, clock := newSuspendableClock()
		w := NewWheel(clock, time.Millisecond)
		defer w.Close()
		probes := make([]*probe, 10_000)
		var last time.Duration
		for i := range probes {
			probes[i] = newProbe(clock, i)
			probes[i].then = func(p *probe) {
				assert.GreaterOrEqual(t, p.at, last)
				last = p.at
			}
			probes[i].schedule(w, time.Duration(i+1)*time.Hour)
		}
		before := system.reads.Load()
		system.suspend(5 * 365 * 24 * time.Hour)
		time.Sleep(maxNap)
		synctest.Wait()
		assert.Zero(t, w.Len())
		for _, p := range probes {
			require.Len(t, p.fired(), 1)
		}
		// Every probe reads the clock, and next does so for every slot.
		assert.Less(t, system.reads.Load()-before, int64(3*len(probes)))
	})
}

func TestWheelSleepsWhenNothingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system, clock := newSuspendableClock()
		w := NewWheel(clock, testTick)
		defer w.Close()
		p := newProbe(clock, 0)
		p.schedule(w, 1000*time.Second)
		synctest.Wait()
		before := system.reads.Load()
		time.Sleep(900 * time.Second)
		synctest.Wait()
		assert.InDelta(t, 900, system.reads.Load()-before, 10, "one look per maxNap")

		assert.True(t, w.Cancel(&p.timer))
		time.Sleep(maxNap)
		synctest.Wait()
		before = system.reads.Load()
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		assert.Equal(t, before, system.reads.Load(), "an empty wheel does not wake up")

		p.schedule(w, clock.Now()+time.Second)
		time.Sleep(time.Second)
		synctest.Wait()
		requireFired(t, p, testTick)
	})
}

// A sleep that is cut to maxNap ends inside a tick, which has begun by then.
func TestWheelWakesForTheTickInWhichItsSleepEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		time.Sleep(testTick / 2)
		anchor := newProbe(clock, 0)
		anchor.schedule(w, time.Hour)
		synctest.Wait()
		for i, off := range []time.Duration{0, 1, testTick / 2, testTick - 1} {
			p := newProbe(clock, i)
			p.schedule(w, maxNap+off)
			time.Sleep(time.Millisecond)
			defer func() { requireFired(t, p, testTick) }()
		}
		time.Sleep(2 * maxNap)
		synctest.Wait()
	})
}

func TestWheelClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		NewWheel(clock, 0).Close() // never started

		w := NewWheel(clock, testTick)
		p := newProbe(clock, 0)
		p.schedule(w, time.Second)
		var all sync.WaitGroup
		for range 4 {
			all.Go(w.Close)
		}
		all.Wait()
		w.Close()
		p.schedule(w, 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(t, p.fired())
	})
}

func TestWheelCloseWaitsForTheFunction(t *testing.T) {
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		ended := false
		slow, next := newProbe(clock, 0), newProbe(clock, 1)
		slow.then = func(*probe) {
			time.Sleep(time.Minute)
			ended = true
		}
		slow.schedule(w, 0)
		synctest.Wait()
		next.schedule(w, 0)
		w.Close()
		assert.True(t, ended)
		assert.Empty(t, next.fired())
	})
}

func TestMillionTimersFireInTheirTick(t *testing.T) {
	if million < 1_000_000 {
		t.Logf("%d timers under the race detector", million)
	}
	inBubble(t, func(t *testing.T, clock *Clock, w *Wheel) {
		const span = 60 * time.Second
		var fired, wrong int // of the wheel's goroutine
		type entry struct {
			Timer
			at time.Duration
		}
		entries := make([]entry, million)
		random := rand.New(rand.NewPCG(1, 2))
		fire := func(arg any) {
			e := arg.(*entry)
			fired++
			if now := clock.Now(); now > e.at || now <= e.at-testTick {
				wrong++
			}
		}
		for i := range entries {
			e := &entries[i]
			e.Init(fire, e)
			e.at = testTick + time.Duration(random.Int64N(int64(span)))
			w.Schedule(&e.Timer, e.at)
		}
		assert.Equal(t, million, w.Len())
		time.Sleep(span + testTick)
		synctest.Wait()
		assert.Equal(t, million, fired)
		assert.Zero(t, wrong)
		assert.Zero(t, w.Len())
	})
}

// Locks that are taken and released one after the other must not wake the wheel each time: it never lies
// down for good between them.
func TestWheelIsNotWokenByTimersThatComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, clock := newSuspendableClock()
		w := NewWheel(clock, testTick)
		defer w.Close()
		p := newProbe(clock, 0)
		wakes := func() bool { // a Schedule would wake the wheel
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.wakeAt > w.tickOf(clock.Now()+2*maxNap)
		}
		for range 10_000 {
			p.schedule(w, clock.Now()+10*time.Second)
			assert.True(t, w.Cancel(&p.timer))
			synctest.Wait()
			require.False(t, wakes())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * maxNap)
		synctest.Wait()
		require.True(t, wakes())
	})
}

// A timer for something short that is cancelled nearly at once, and armed again, and so on, ends the wheel's sleep once in
// each of its times and not each time.
func TestWheelIsSeldomWokenByAShortTimerThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, clock := newSuspendableClock()
		w := NewWheel(clock, testTick)
		defer w.Close()
		p, other := newProbe(clock, 0), newProbe(clock, 1)
		const short, each, times = 5 * testTick, testTick / 100, 10_000
		for _, armed := range []bool{false, true} {
			if armed {
				other.schedule(w, clock.Now()+time.Hour)
			}
			wakes := 0
			for range times {
				w.mu.Lock()
				if w.tickOf(clock.Now()+short) < w.wakeAt {
					wakes++
				}
				w.mu.Unlock()
				p.schedule(w, clock.Now()+short)
				assert.True(t, w.Cancel(&p.timer))
				synctest.Wait()
				time.Sleep(each)
			}
			const lasted = times * each
			assert.LessOrEqual(t, wakes, int(lasted/short)+2, "another one is armed: %v", armed)
			require.Positive(t, wakes)
		}
	})
}
