package localqueue

import "time"

// A run is the turns that follow one another in this process, until the key is really released. It ends after
// runCount turns or runTime, whichever is first, or sooner if several other processes take turns.
const (
	runCount = 64
	runTime  = 50 * time.Millisecond
	runLeast = 10 // how short a run gets at most: between two of them lies a round trip and a message
	runFew   = 8  // that cost no request are always granted, if they take no longer than runTime
	runShort = 8 * time.Millisecond
	runTrips = 4
)

type run struct {
	turns  int           // hand-offs by a script since the key was last taken through Redis
	passed int           // those without one
	since  time.Duration // when the first of them was
	trip   time.Duration // how long it took to take the key through Redis, or to hand it on there
}

func (r *run) length() int { return r.turns + r.passed }

// count counts a turn. The run's time counts from the first one.
func (r *run) count(passed bool, now time.Duration) {
	if r.length() == 0 {
		r.since = now
	}
	if passed {
		r.passed++
	} else {
		r.turns++
	}
}

// over reports that the run has been long enough, where so many other processes take turns. The first hand-off
// is always granted: with long critical sections, every other turn is a real release. Those that cost no request go
// on until what they took outweighs what others wait for besides: a release, a message and a request, which are
// trips.
func (r *run) over(now time.Duration, others int) bool {
	if r.length() == 0 {
		return false
	}
	turns, took := runTurns(others), now-r.since
	return r.turns >= turns || took >= max(runTime*time.Duration(turns)/runCount, outweighs(r.trip)) ||
		r.passed >= runFew && took >= max(runShort, outweighs(r.trip))
}

// outweighs is what others wait for besides the turns of a run, where a way to Redis takes trip.
func outweighs(trip time.Duration) time.Duration { return min(runTrips*trip, runTime) }

// runTurns is how many hand-offs by a script make a run. The more processes take turns, the shorter each one's is:
// how long it is until a process has the next one is to depend little on how many there are.
func runTurns(others int) int {
	if others <= 2 {
		return runCount
	}
	return max(5*runCount/4/others, runLeast)
}

// Run is since when turns have followed one another, 0 if none has yet, and how long a way to Redis took.
func (q *Queue) Run() (since, trip time.Duration) {
	if q.run.length() == 0 {
		return 0, q.run.trip
	}
	return q.run.since, q.run.trip
}

// Took notes how long a request for the key took, or a hand-off by a script.
func (q *Queue) Took(trip time.Duration) { q.run.trip = trip }

// Passed reports whether a hold was passed on without a request since the key was last taken through Redis.
func (q *Queue) Passed() bool { return q.run.passed > 0 }
