package localqueue

import "time"

// A series is turns of this process that follow one another by releases and requests, because nobody of it waited as
// each of them ended: one goroutine that locks, works, unlocks and locks again. Its request is one way to the store,
// and comes before that of everybody who has to hear of the release first, so without a bound it would have nearly all
// turns. A series is therefore a run, and owes when it is over. It goes on only where turns are so short that an end
// after each would cost everybody more than the turns.
type series struct {
	turns int64
	since time.Duration // when the first of them began
}

// GoesOn counts a turn that began at start and that nobody of this process waited for. It reports whether the series
// may have one more: whether runShort is long enough for another one of the mean length so far.
func (q *Queue) GoesOn(start, now time.Duration) bool {
	s := &q.series
	if q.first != nil {
		*s = series{}
		return false
	}
	if s.turns == 0 {
		s.since = start
	}
	s.turns++
	took := now - s.since
	if took+took/time.Duration(s.turns) > runShort {
		*s = series{}
		return false
	}
	return true
}

// EndSeries ends a series because another process has said that it waits.
func (q *Queue) EndSeries() { q.series = series{} }

// Remember has the queue remembered for RunPause, though nobody holds or waits: a process that comes back by then goes
// on with its series, or owes what it owed.
func (q *Queue) Remember(now time.Duration) { q.remembered = now + RunPause }

// LeaveFor has a process that does not listen leave the key to others for as long as pause, and not for [RunPause]. It
// comes after the release, when something is owed.
func (q *Queue) LeaveFor(pause, now time.Duration) {
	q.remembered, q.debt.until = now+pause, now+pause
}

// RememberedUntil is the instant until which the queue is remembered.
func (q *Queue) RememberedUntil() time.Duration { return q.remembered }

// Remembers reports whether it is.
func (q *Queue) Remembers(now time.Duration) bool { return now < q.remembered }
