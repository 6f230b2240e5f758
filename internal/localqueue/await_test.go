package localqueue

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Nobody waits for another's answer where the hold could hardly be joined when it comes.
func TestAwaitTime(t *testing.T) {
	const ms = time.Millisecond
	for trip, want := range map[time.Duration]time.Duration{
		0: 8 * ms, ms: 8 * ms, 10 * ms: 40 * ms, 25 * ms: 50 * ms, 26 * ms: 0, time.Second: 0,
	} {
		require.Equal(t, want, AwaitTime(trip), "%v", trip)
	}
}

// overdue is the end of the time for which i waits for another's answer, unless that one was told to wait.
func (s *world) overdue(i int) error {
	w, told := &s.waiters[i], s.calls[s.index(s.queue.asker)].told
	s.queue.Overdue(w)
	if w.state == Awaiting && !told || w.state == Waiting && s.mayAsk(i) {
		return fmt.Errorf("%d goes on waiting for another's answer", i)
	}
	return nil
}

// brings ends the wait for the answer to the request of i; those that waited join its hold, or nobody does.
func (s *world) brings(i int, join bool) (err error) {
	s.queue.Bring(&s.waiters[i], func(w *Waiter) bool {
		j := s.index(w)
		err = cmp.Or(err, s.overtakes(j, i))
		if join {
			s.calls[j].phase, s.calls[j].to = joined, int8(i)
		}
		return join
	})
	if s.calls[i].phase = holding; !s.calls[i].holds {
		s.calls[i].phase = gone
	}
	return err
}

// overtakes reports whether j, which joins the hold of i, comes before somebody that it stands behind.
func (s *world) overtakes(j, i int) error {
	if !s.calls[j].breed.joins || s.calls[j].breed.kind.Mode() != s.calls[i].breed.kind.Mode() {
		return fmt.Errorf("%d joins %d", j, i)
	}
	for k := range j {
		if s.waits(k) && (s.calls[j].breed.kind.Follows(s.calls[k].breed.kind.Mode()) || s.calls[k].told) {
			return fmt.Errorf("%d joins, and overtakes %d", j, k)
		}
	}
	return nil
}

// vanishes is the loss of a hold whose owner is about to have others join.
func (s *world) vanishes(i int) error {
	phase := s.calls[i].phase
	err := s.drops(i)
	s.calls[i].phase = phase
	return err
}
