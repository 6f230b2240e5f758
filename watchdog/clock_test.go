package watchdog

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClockCountsJumpsOfTheWallClock(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	type step struct{ mono, wall, want time.Duration } // the first two by how much they move
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"both run", []step{{s, s, s}, {s, s, 2 * s}}},
		{"both stand", []step{{0, 0, 0}, {0, 0, 0}}},
		{"suspended", []step{{s, s, s}, {0, 60 * s, 61 * s}, {s, s, 62 * s}}},
		{"suspended twice", []step{{0, 60 * s, 60 * s}, {s, 31 * s, 91 * s}}},
		{"threshold is no jump", []step{{s, s + 50*ms, s}}},
		{"above the threshold the whole growth counts", []step{{s, s + 50*ms + 1, s + 50*ms + 1}}},
		{"small gains add up", []step{{s, s + 30*ms, s}, {s, s + 30*ms, 2*s + 60*ms}, {s, s, 3*s + 60*ms}}},
		{"set back", []step{{s, -3600 * s, s}, {s, s, 2 * s}}},
		{"set back, then suspended", []step{{s, -3600 * s, s}, {0, 10 * s, 11 * s}}},
		{"set back and forth again", []step{{s, -9 * s, s}, {s, 11 * s, 12 * s}}},
		{"set back a little is noise", []step{{s, s - ms, s}, {s, s + 50*ms, 2 * s}}},
		{"never back after a jump", []step{{0, 60 * s, 60 * s}, {0, -60 * s, 60 * s}, {0, 0, 60 * s}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			manual := &manualClock{}
			manual.wall.Store(int64(1000 * time.Hour))
			clock := newClock(manual.read, unknown)
			for i, step := range test.steps {
				manual.mono.Add(int64(step.mono))
				manual.wall.Add(int64(step.wall))
				require.Equal(t, step.want, clock.Now(), "step %d", i)
				require.Equal(t, step.want, clock.Now(), "step %d, asked again", i)
			}
		})
	}
}

func TestClockIgnoresTornReadings(t *testing.T) {
	const torn = time.Minute
	script := []time.Duration{}
	clock := newClock(func() (mono, wall time.Duration) {
		if len(script) > 0 {
			wall, script = script[0], script[1:]
		}
		return 0, wall
	}, unknown)
	for name, offsets := range map[string][]time.Duration{
		"once behind":          {-torn},
		"once ahead":           {torn},
		"the second one, too":  {-torn, -2 * torn},
		"three times in a row": {torn, -torn, 2 * torn},
	} {
		script = offsets
		assert.Zero(t, clock.Now(), name)
		assert.Zero(t, clock.Now(), name)
	}
}

// A clock whose readings never agree must still answer, and not go back.
func TestClockAnswersWhenReadingsNeverAgree(t *testing.T) {
	var wall time.Duration
	clock := newClock(func() (time.Duration, time.Duration) {
		wall += time.Minute
		return 0, wall
	}, unknown)
	last := clock.Now()
	for range 100 {
		now := clock.Now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}

// Every goroutine's instants must be in order, across goroutines too, while
// jumps and steps back happen; and a jump must count once, however many see it.
func TestClockNeverGoesBackUnderConcurrency(t *testing.T) {
	const readers, rounds, jumps = 4, 20_000, 40
	manual := &manualClock{}
	clock := newClock(manual.read, unknown)
	var (
		order sync.Mutex
		last  time.Duration
		all   sync.WaitGroup
	)
	for range readers {
		all.Go(func() {
			var own time.Duration
			for i := range rounds {
				now := clock.Now()
				if now < own {
					t.Errorf("%v after %v", now, own)
					return
				}
				own = now
				if i%16 == 0 {
					order.Lock()
					if now = clock.Now(); now < last {
						t.Errorf("%v after %v of another goroutine", now, last)
					}
					last = now
					order.Unlock()
				}
			}
		})
	}
	all.Go(func() {
		for range jumps {
			manual.advance(jitter / 2)
			manual.wall.Add(int64(time.Second))
			clock.Now()
		}
	})
	all.Wait()
	assert.Equal(t, jumps*(time.Second+jitter/2), clock.Now())
}

func TestClockOfTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		assert.Zero(t, clock.Now())
		time.Sleep(1500 * time.Millisecond)
		assert.Equal(t, 1500*time.Millisecond, clock.Now())

		wall := clock.Wall(2 * time.Second)
		assert.Equal(t, time.Now().Add(500*time.Millisecond).Round(0), wall)
		assert.Equal(t, wall, wall.Round(0), "no monotonic reading")
		assert.Equal(t, time.Now().Add(-time.Second).Round(0), clock.Wall(500*time.Millisecond))
	})
}

func TestWallStandsAfterASuspension(t *testing.T) {
	manual := &manualClock{}
	clock := newClock(manual.read, unknown)
	end := 10 * time.Second
	before := clock.Wall(end)
	manual.wall.Add(int64(4 * time.Second))
	assert.Equal(t, before, clock.Wall(end), "the lease did not get longer by the suspension")
	assert.Equal(t, 6*time.Second, end-clock.Now())
}

// unknown is of a machine that cannot tell whether it was suspended.
func unknown() (time.Duration, bool) { return 0, false }

// defect B23: where the machine tells for how long it was suspended, a wall clock that is set is no suspension.
func TestAStepOfTheWallClockIsNoSuspension(t *testing.T) {
	const s = time.Second
	type step struct{ mono, wall, asleep, want time.Duration } // the first three by how much they move
	for name, steps := range map[string][]step{
		"set forward":                 {{s, 31 * s, 0, s}, {s, s, 0, 2 * s}},
		"set back":                    {{s, -29 * s, 0, s}, {s, s, 0, 2 * s}},
		"suspended":                   {{s, 61 * s, 60 * s, 61 * s}, {s, s, 0, 62 * s}},
		"suspended, and set forward":  {{s, 91 * s, 60 * s, 61 * s}},
		"suspended, and set back":     {{s, 31*s + s/2, 60 * s, 61 * s}, {s, -s, 0, 62 * s}},
		"set forward, then suspended": {{s, 31 * s, 0, s}, {0, 60 * s, 60 * s, 61 * s}},
		"set back, then suspended":    {{s, -29 * s, 0, s}, {0, 60 * s, 60 * s, 61 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			manual := &manualClock{}
			var slept time.Duration
			clock := newClock(manual.read, func() (time.Duration, bool) { return slept, true })
			for i, step := range steps {
				manual.mono.Add(int64(step.mono))
				manual.wall.Add(int64(step.wall))
				slept += step.asleep
				require.Equal(t, step.want, clock.Now(), "step %d", i)
				require.Equal(t, step.want, clock.Now(), "step %d, asked again", i)
			}
		})
	}
}

// The readings of a machine that runs agree.
func TestTheSystemWasNotSuspendedJustNow(t *testing.T) {
	before, told := asleep()
	if !told {
		return
	}
	require.GreaterOrEqual(t, before, -time.Second)
	after, _ := asleep()
	require.Less(t, (after - before).Abs(), time.Second)
}
