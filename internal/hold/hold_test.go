package hold

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

// A level is taken out once, whatever its place, and the others keep theirs.
func TestClosingALevel(t *testing.T) {
	h := &Hold{}
	var all []*Level
	for range 4 {
		all = append(all, &Level{hold: h, state: open})
	}
	all[3].state = underWay
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
		all[c.close].closeLocked(parting)
		require.NotEqual(t, len(c.left), chain(h), "it stays until it is taken out")
		h.takeOutLocked(all[c.close])
		var left []*Level
		for l := h.top; l != nil; l = l.below {
			left = append(left, l)
		}
		require.Equal(t, c.left, left)
		require.EqualValues(t, len(left), h.depth)
	}
}

func chain(h *Hold) (n int) {
	for l := h.top; l != nil; l = l.below {
		n++
	}
	return n
}

// G2: validity falls short of the lease by 1 %, 2 ms and a tick.
func TestValidityEndsBeforeTheLease(t *testing.T) {
	for lease, short := range map[time.Duration]time.Duration{
		100 * ms: 13 * ms, s: 22 * ms, 30 * s: 312 * ms, time.Hour: 36*s + 12*ms,
	} {
		require.Equal(t, 7*s+lease-short, ValidUntil(7*s, lease), "%v", lease)
	}
}
