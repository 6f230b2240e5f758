package localqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hold is joined for as long as a run of turns is that cost no request, which depends on how far Redis is away.
func TestJoinTime(t *testing.T) {
	const ms = time.Millisecond
	for trip, want := range map[time.Duration]time.Duration{
		0: 8 * ms, ms: 8 * ms, 2 * ms: 8 * ms, 3 * ms: 12 * ms, 10 * ms: 40 * ms, 20 * ms: 50 * ms, 999 * ms: 50 * ms,
	} {
		require.Equal(t, want, JoinTime(trip, false), "%v", trip)
	}
	for trip, want := range map[time.Duration]time.Duration{
		0: 0, ms: 2 * ms, 2 * ms: 4 * ms, 10 * ms: 20 * ms, 20 * ms: 25 * ms, 999 * ms: 25 * ms,
	} {
		require.Equal(t, want, JoinTime(trip, true), "%v, from a gate", trip)
	}
}

// joins has i come in by a hold that lives, if the queue lets it. Everybody who is there came earlier, so those that it
// follows, and those that were told to wait, would be overtaken.
func (s *world) joins(i int) (joins bool, err error) {
	kind := s.calls[i].breed.kind
	for j := range i {
		if c := &s.calls[j]; c.holds && c.phase == holding && c.breed.joins && s.queue.Join(kind) {
			s.calls[i].phase, s.calls[i].to, joins = joined, int8(j), true
			break
		}
	}
	if !joins {
		return false, nil
	}
	for j := range i {
		if s.waits(j) && (kind.Follows(s.calls[j].breed.kind.Mode()) || s.calls[j].told) {
			return true, fmt.Errorf("%d joins, and overtakes %d", i, j)
		}
	}
	if s.excluded(i) {
		return true, fmt.Errorf("%d joins beside a hold that excludes it", i)
	}
	return true, nil
}

// passes has another one of those that have the hold of i go on with it, if there is one: for the queue nothing
// changes.
func (s *world) passes(i int) bool {
	heir := -1
	for j := range s.calls[:s.n] {
		switch c := &s.calls[j]; {
		case c.phase != joined || int(c.to) != i:
		case heir < 0:
			heir = j
			c.phase, c.holds, c.to = holding, true, 0
		default:
			c.to = int8(heir)
		}
	}
	if heir >= 0 {
		s.calls[i].phase, s.calls[i].holds = gone, false
	}
	return heir >= 0
}

// parts is one who joined that leaves.
func (s *world) parts(i int) error {
	s.calls[i].phase = gone
	return nil
}

// loses is the end of a hold for all who have it.
func (s *world) loses(i int) error {
	for j := range s.calls[:s.n] {
		if c := &s.calls[j]; c.phase == joined && int(c.to) == i {
			c.phase = gone
		}
	}
	return s.drops(i)
}
