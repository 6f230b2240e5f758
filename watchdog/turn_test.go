package watchdog

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// From every kind of position to every kind of distance, across the boundaries
// of every level and beyond the horizon.
func TestTurnAcrossAllBoundaries(t *testing.T) {
	const tick = time.Millisecond // 2^40 of them fit into a Duration
	var edges []uint64
	for level := range levels + 1 {
		edge := uint64(1) << (level * slotBits)
		edges = append(edges, edge-1, edge, edge+1, 3*edge/2, 2*edge-1, 255*edge, 256*edge-1,
			511*edge, 512*edge-1, 512*edge, 513*edge)
	}
	edges = append(edges, 5*horizon+17)
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for _, from := range edges {
		t.Run(fmt.Sprint("from ", from), func(t *testing.T) {
			s := newStepper(tick)
			start := time.Duration(from)*tick + tick/3
			s.moveTo(start)
			anchor := newProbe(s.clock, -1) // keeps the wheel from following the clock
			anchor.schedule(s.Wheel, math.MaxInt64)
			s.runUntil(start)
			var probes []*probe
			for i, distance := range edges {
				for _, off := range []time.Duration{-1, 0, 1, tick / 2} {
					p := newProbe(s.clock, i)
					p.schedule(s.Wheel, time.Duration(from+distance+1)*tick+off)
					probes = append(probes, p)
				}
			}
			s.runUntil(start + time.Duration(edges[len(edges)-1]+3)*tick)
			for _, p := range probes {
				requireFired(t, p, tick)
			}
			assert.Equal(t, 1, s.Len(), "the anchor")
			assert.Empty(t, anchor.fired())
		})
	}
}

// A timer beyond the horizon goes round the slowest level until it is within
// reach, even through the slot that it is taken from.
func TestTurnBeyondTheHorizon(t *testing.T) {
	for _, turns := range []uint64{1, 2, 3, 10} {
		for _, from := range []uint64{0, 1, 1 << 24, horizon - 1, horizon + 12345} {
			s := newStepper(testTick)
			s.moveTo(time.Duration(from) * testTick)
			p := newProbe(s.clock, 0)
			p.schedule(s.Wheel, time.Duration(from+turns*horizon)*testTick)
			s.runUntil(p.at + time.Hour)
			requireFired(t, p, testTick)
		}
	}
}

func TestTurnAtTheEndOfTime(t *testing.T) {
	s := newStepper(testTick)
	p := newProbe(s.clock, 0)
	p.schedule(s.Wheel, math.MaxInt64)
	s.runUntil(200 * 365 * 24 * time.Hour)
	assert.Empty(t, p.fired())
	assert.True(t, s.Cancel(&p.timer))
}

// model is the wheel as a list: the two cannot share a mistake.
type model struct {
	tick    time.Duration
	entries []*probe
}

func (m *model) remove(p *probe) bool {
	i := slices.Index(m.entries, p)
	if i >= 0 {
		m.entries = slices.Delete(m.entries, i, i+1)
	}
	return i >= 0
}

// due takes out what must fire until now, in order of ticks.
func (m *model) due(now time.Duration) []*probe {
	slices.SortStableFunc(m.entries, func(a, b *probe) int {
		return cmp.Compare(max(a.at, 0)/m.tick, max(b.at, 0)/m.tick)
	})
	n := 0
	for n < len(m.entries) && max(m.entries[n].at, 0)/m.tick <= now/m.tick {
		n++
	}
	due := slices.Clone(m.entries[:n])
	m.entries = m.entries[n:]
	return due
}

func TestTurnLikeASortedList(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			checkAgainstModel(t, rand.New(rand.NewPCG(seed, 99)))
		})
	}
}

func checkAgainstModel(t *testing.T, random *rand.Rand) {
	tick := []time.Duration{1, 7, time.Microsecond, testTick}[random.IntN(4)]
	s := newStepper(tick)
	list := &model{tick: tick}
	// distances of all magnitudes, from less than a tick to beyond the horizon
	distance := func() time.Duration {
		return time.Duration(random.Uint64N(1<<random.IntN(36)+1))*tick + time.Duration(random.Int64N(int64(tick)))
	}
	var fired []*probe
	probes := make([]*probe, 60)
	for i := range probes {
		probes[i] = newProbe(s.clock, i)
		probes[i].then = func(p *probe) { fired = append(fired, p) }
	}
	for range 1500 {
		now := s.clock.Now()
		p := probes[random.IntN(len(probes))]
		switch random.IntN(4) {
		case 0, 1:
			list.remove(p)
			at := now + distance()
			if random.IntN(10) == 0 {
				at = now - distance()
			}
			p.schedule(s.Wheel, at)
			list.entries = append(list.entries, p)
		case 2:
			require.Equal(t, list.remove(p), s.Cancel(&p.timer))
		case 3:
			// Half of the time in one jump, half event by event.
			end := now + distance()
			if random.IntN(2) == 0 {
				s.moveTo(end)
			}
			fired = nil
			s.runUntil(end)
			compareFired(t, list.due(end), fired, tick)
		}
		require.Equal(t, len(list.entries), s.Len())
	}
}

func compareFired(t *testing.T, want, got []*probe, tick time.Duration) {
	t.Helper()
	require.ElementsMatch(t, want, got)
	for i := range got {
		// A timer scheduled for the past is placed by the order of scheduling,
		// which ticks do not show.
		if i > 0 && got[i].fired()[len(got[i].fired())-1] < got[i-1].fired()[len(got[i-1].fired())-1] {
			t.Fatalf("timer %d fired out of order", got[i].id)
		}
		when := got[i].fired()[len(got[i].fired())-1]
		require.Greater(t, when, got[i].at-tick, "early")
	}
}

// A crowded slot is sorted in pieces, before its time, and what is due meanwhile
// goes first.
func TestTurnSortsAheadInPieces(t *testing.T) {
	const crowd, position = 10 * chunk, 5
	s := newStepper(testTick)
	timers := make([]Timer, crowd)
	for i := range timers {
		timers[i].Init(noop, nil)
		s.Schedule(&timers[i], (position<<slotBits)*testTick+time.Duration(i%slots/2)*testTick)
	}
	slot := slotOf(1, position)
	ahead := time.Duration((position-1)<<slotBits) * testTick
	wake, ok := s.upcomingLocked()
	require.True(t, ok)
	require.Equal(t, ahead, time.Duration(wake)*testTick, "it wakes up for that")
	urgent := newProbe(s.clock, 0)
	urgent.schedule(s.Wheel, ahead+testTick)

	s.moveTo(ahead)
	for range 3 {
		fire, _, _ := s.next()
		require.NotNil(t, fire, "there is more to sort")
	}
	s.moveTo(urgent.at)
	fire, arg, _ := s.next()
	require.Same(t, urgent, arg)
	fire(arg)
	require.NotNil(t, s.rack.heads[slot])
	for pieces := 3; s.rack.heads[slot] != nil; pieces++ {
		require.Less(t, pieces, crowd/chunk+1)
		fire, _, _ := s.next()
		require.NotNil(t, fire)
	}
	assert.Equal(t, crowd, s.Len(), "none has fired")
	assert.Equal(t, urgent.at, s.clock.Now())
}

// A wheel with nothing to do stands still, and must not sort by where it stood.
func TestTurnOfAnIdleWheel(t *testing.T) {
	s := newStepper(testTick)
	s.moveTo(10 * time.Hour)
	p := newProbe(s.clock, 0)
	p.schedule(s.Wheel, 10*time.Hour+time.Second)
	assert.Less(t, p.timer.at.slot(), uint16(slots), "the lowest level")
}
