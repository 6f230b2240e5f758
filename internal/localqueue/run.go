package localqueue

import "time"

// A run is the turns that follow one another in this process, until the key is really released. Its first pass is
// always granted: with long critical sections, every other turn is a real release. runFew of them are granted as
// long as they take no longer than runTime, or less if several other processes take turns; more, until what they
// took outweighs what others wait for besides: a release, a message and a request, which are trips.
const (
	runTime  = 50 * time.Millisecond
	runFew   = 8
	runShort = 8 * time.Millisecond
	runTrips = 4

	// longTrip is the longest way to the store that is taken for its distance, and not for a stall.
	longTrip = 250 * time.Millisecond
)

type run struct {
	passes int           // since the key was last taken through the store
	since  time.Duration // when the first of them was
	trip   time.Duration // how long it took to take the key through the store
}

// count counts a pass. The run's time counts from the first one.
func (r *run) count(now time.Duration) {
	if r.passes == 0 {
		r.since = now
	}
	r.passes++
}

// over reports that the run has been long enough, where so many other processes take turns.
func (r *run) over(now time.Duration, others int) bool {
	if r.passes == 0 {
		return false
	}
	took, trips := now-r.since, outweighs(r.trip)
	return took >= max(longestRun(others), trips) || r.passes >= runFew && took >= max(runShort, trips)
}

// outweighs is what others wait for besides the turns of a run, where a way to the store takes trip.
func outweighs(trip time.Duration) time.Duration { return min(runTrips*trip, runTime) }

// longestRun is how long a run of a few long turns takes at most. The more processes take turns, the shorter each one's
// is: how long it is until a process has the next one is to depend little on how many there are.
func longestRun(others int) time.Duration {
	if others <= 2 {
		return runTime
	}
	return max(runTime*5/4/time.Duration(others), runShort)
}

// Trip is how long the last request for the key took.
func (q *Queue) Trip() time.Duration { return q.run.trip }

// Took notes how long a request for the key took.
func (q *Queue) Took(trip time.Duration) { q.run.trip = trip }

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

// LeaveFor has the process leave the key to others for as long as pause, whether it listens or not. It comes after the
// release.
func (q *Queue) LeaveFor(pause, now time.Duration) {
	q.remembered, q.left, q.had = now+pause, now+pause, had{}
}

// LeftUntil is the instant until which the process leaves the key to others.
func (q *Queue) LeftUntil() time.Duration { return q.left }

// had is since when a process has had a key for itself, but for moments between a release and its next request.
type had struct {
	since time.Duration
	until time.Duration // when the last of them was released; 0: none was
}

// HadFor notes the release of a grant that the process had since an instant, and of which nobody else heard. It returns
// for how long the process has had the key with no pause that a client which polls could have found.
func (q *Queue) HadFor(since, now time.Duration) time.Duration {
	if h := &q.had; h.until == 0 || since-h.until > RunPause {
		h.since = since
	}
	q.had.until = now
	q.Remember(now)
	return now - q.had.since
}

// RememberedUntil is the instant until which the queue is remembered.
func (q *Queue) RememberedUntil() time.Duration { return q.remembered }

// Remembers reports whether it is.
func (q *Queue) Remembers(now time.Duration) bool { return now < q.remembered }
