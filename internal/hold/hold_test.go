package hold

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// G10: what Redis has to keep is the longest lease that a level still needs. A lease that is renewed
// is needed in full, a fixed one as far as it is not over, and that of a level that ended not at all.
func TestLongestRemainingLease(t *testing.T) {
	const now = 100 * s
	kept := func(lease time.Duration) *Level { return &Level{lease: lease, kept: true} }
	fixed := func(left time.Duration) *Level {
		l := &Level{lease: time.Hour}
		l.apart.Store(&apart{until: now + left})
		return l
	}
	lost := func(l *Level) *Level {
		if l.apart.Load() == nil {
			l.apart.Store(&apart{})
		}
		l.apart.Load().err = errors.New("it ran out")
		return l
	}
	pending := func(l *Level) *Level {
		l.pending = true
		return l
	}
	for name, c := range map[string]struct {
		levels []*Level
		want   time.Duration
	}{
		"none":                             {nil, 0},
		"renewed":                          {[]*Level{kept(30 * s)}, 30 * s},
		"the longer of two":                {[]*Level{kept(10 * s), kept(30 * s)}, 30 * s},
		"fixed, what is left of it":        {[]*Level{fixed(20 * s)}, 20 * s},
		"fixed and longer than renewed":    {[]*Level{kept(30 * s), fixed(time.Minute)}, time.Minute},
		"fixed and shorter than renewed":   {[]*Level{kept(30 * s), fixed(5 * s)}, 30 * s},
		"fixed and over":                   {[]*Level{fixed(-s)}, 0},
		"fixed and over beside renewed":    {[]*Level{fixed(-s), kept(30 * s)}, 30 * s},
		"lost":                             {[]*Level{lost(kept(30 * s))}, 0},
		"lost beside a shorter one":        {[]*Level{lost(kept(30 * s)), fixed(5 * s)}, 5 * s},
		"one whose Lock is under way":      {[]*Level{fixed(5 * s), pending(kept(30 * s))}, 30 * s},
		"whole milliseconds, rounded down": {[]*Level{fixed(5*ms + 999*time.Microsecond)}, 5 * ms},
		"less than a millisecond is none":  {[]*Level{fixed(999 * time.Microsecond)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &Hold{}
			for _, l := range c.levels {
				h.pushLocked(l)
			}
			require.Equal(t, c.want, h.longestLocked(now))
			step := h.stepLocked(now)
			require.Equal(t, Step{Count: int64(len(c.levels)), Op: 1, TTL: c.want}, step)
		})
	}
}

// G3: no operation number is given out twice.
func TestStepsAreNumbered(t *testing.T) {
	h := &Hold{}
	for want := range int64(5) {
		require.Equal(t, want+1, h.stepLocked(0).Op)
	}
}

// A level is taken out once, whatever its place, and the others keep theirs.
func TestClosingALevel(t *testing.T) {
	h := &Hold{}
	var all []*Level
	for range 4 {
		all = append(all, &Level{hold: h, open: true})
	}
	all[3].open, all[3].pending = false, true
	for _, l := range all {
		h.pushLocked(l)
	}
	for _, c := range []struct {
		close int
		left  []*Level // the newest first
	}{
		{1, []*Level{all[3], all[2], all[0]}},
		{3, []*Level{all[2], all[0]}},
		{0, []*Level{all[2]}},
		{2, nil},
	} {
		require.True(t, all[c.close].closeLocked())
		require.False(t, all[c.close].closeLocked(), "a level is closed once")
		var left []*Level
		for l := h.top; l != nil; l = l.below {
			left = append(left, l)
		}
		require.Equal(t, c.left, left)
		require.EqualValues(t, len(left), h.depth)
	}
}

// G2: validity falls short of the lease by 1 %, 2 ms and a tick.
func TestValidityEndsBeforeTheLease(t *testing.T) {
	for lease, short := range map[time.Duration]time.Duration{
		100 * ms: 13 * ms, s: 22 * ms, 30 * s: 312 * ms, time.Hour: 36*s + 12*ms,
	} {
		require.Equal(t, 7*s+lease-short, ValidUntil(7*s, lease), "%v", lease)
	}
}
