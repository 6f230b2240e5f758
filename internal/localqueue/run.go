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
