package links

import (
	"slices"
	"time"
)

// trust is whom a Sentinel named last, and for how long this server may be taken for the primary without a Sentinel:
// see primary, whose mutex guards it.
type trust struct {
	period    time.Duration // that it lasts without a confirmation
	addr      string        // whom a Sentinel named last; "": none did yet
	confirmed time.Time     // when it was last known to be the one
	turned    chan struct{} // closed by the next such moment
	answered  time.Time     // when it last said that it is a master
	role      *primaryRole  // which was this answer; nil: none yet
	replicas  []string      // that it had since it was named, which have to confirm
	moments   []moment      // the last answers, while not all replicas have confirmed them
}

// moment is how far a primary's stream of writes had come.
type moment struct {
	at     time.Time
	offset int64
}

// leastTrust allows for replicas, which confirm once a second what they received, and for ROLE, which is asked for
// twice a second.
const leastTrust = 2500 * time.Millisecond

// staleAfter is when the Sentinels are asked about a primary that was not confirmed. It is soon enough for an answer
// before trust ends.
const staleAfter = 2 * time.Second

// begin records the server that a Sentinel named, or that says itself that it was promoted.
func (t *trust) begin(addr string, at time.Time) {
	if addr != t.addr {
		t.role = nil
	}
	t.addr = addr
	t.again(at)
	t.wake()
}

// again records that the server was named once more. Nobody is woken: the waiting calls could not dial it.
func (t *trust) again(at time.Time) { t.confirmed, t.replicas, t.moments = at, nil, nil }

// confirm records a moment at which the server was the primary, and wakes the dials that wait for it.
func (t *trust) confirm(at time.Time) {
	t.confirmed = at
	t.wake()
}

func (t *trust) wake() {
	close(t.turned)
	t.turned = make(chan struct{})
}

// stands reports that the server needs no Sentinel.
func (t *trust) stands(now time.Time) bool { return t.addr != "" && now.Sub(t.confirmed) < t.period }

// lapsed reports that trust in a server has ended.
func (t *trust) lapsed(now time.Time) bool { return t.addr != "" && !t.stands(now) }

// stale reports that the server was not confirmed for so long that a Sentinel must be asked.
func (t *trust) stale(now time.Time) bool { return t.addr != "" && now.Sub(t.confirmed) >= staleAfter }

// heirs returns the replicas of a server that is silent, and how much of the stream each had confirmed; none while it
// answers.
func (t *trust) heirs(now time.Time) map[string]int64 {
	if t.role == nil || now.Sub(t.answered) < rolePause+question {
		return nil
	}
	return t.role.acked
}

// heard examines what the server answered to ROLE, for which it was asked at some moment.
func (t *trust) heard(r *primaryRole, at time.Time) {
	if !r.primary {
		t.confirmed = time.Time{}
		return
	}
	t.answered, t.role = at, r
	for _, one := range r.replicas {
		if !slices.Contains(t.replicas, one) {
			t.replicas = append(t.replicas, one)
		}
	}
	t.moments = append(slices.DeleteFunc(t.moments, func(m moment) bool { return at.Sub(m.at) >= t.period }),
		moment{at, r.offset})
	for i := len(t.moments) - 1; i >= 0; i-- {
		if r.received(t.replicas, t.moments[i].offset) {
			t.confirm(t.moments[i].at)
			t.moments = t.moments[i+1:]
			return
		}
	}
}
