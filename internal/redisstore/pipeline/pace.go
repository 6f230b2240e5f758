package pipeline

import "time"

const (
	first    = 16  // commands in one pipeline, until it is known how long they take
	most     = 128 // to a node nearby
	farthest = 512 // to one so distant that it answers them within a round trip

	// share is the fraction of a command's time limit that a pipeline may take beyond the round trip: its last
	// command must be answered in time, and another pipeline may come before it.
	share = 8

	// era is how long the shortest exchange counts as the round trip, which may become longer.
	era = 5 * time.Second
)

// pace decides how many commands are sent to a node at once. The time that every exchange takes says nothing
// about that, however long it is: the node may be distant. So pipelines are compared with the shortest recent
// exchange of a single command, and only the time beyond that makes them shorter.
//
// An example with a limit of 1.6 s, of which an eighth, 200 ms, is the room. A node nearby answers a single
// command in 1 ms. Sixteen take 3 ms, of which 2 ms count: that is less than half of the room, so the next
// pipeline may have 32, and soon 128. A server that becomes slow answers 128 in 250 ms: 249 ms count, and the
// next has 64. Between 100 ms and 200 ms nothing changes, so the size does not swing.
//
// A distant node answers a single command in 80 ms. 128 take 110 ms, of which only 30 ms count. That is less
// than its round trip, so 256 are tried, and then 512. Measured by the whole 110 ms the size would have stayed
// at 128.
//
// Its methods are called with Pipe.mu held.
type pace struct {
	limit time.Duration // of one command
	size  int           // commands in the next pipeline

	since        time.Time     // when this era began
	near, before time.Duration // the shortest single exchange in this era and in the last one; 0: there was none
	probed       bool          // one was asked for in this era
}

func newPace(limit time.Duration) pace { return pace{limit: limit, size: first} }

// roundTrip is how long the node needs at least; 0 if unknown.
func (c *pace) roundTrip() time.Duration {
	if c.near == 0 || c.before != 0 && c.before < c.near {
		return c.before
	}
	return c.near
}

// next is how many commands may go together now. Once an era it is one, if none was alone, to measure the round
// trip.
func (c *pace) next(now time.Time) int {
	c.turn(now)
	if c.near == 0 && !c.probed {
		c.probed = true
		return 1
	}
	return c.size
}

func (c *pace) turn(now time.Time) {
	if now.Sub(c.since) <= era {
		return
	}
	if c.near > 0 {
		c.before = c.near
	}
	c.since, c.near, c.probed = now, 0, false
}

// note records an exchange of n commands that ended now. An unanswered one shows only how long it took.
//
// A pipeline grows only if one of about its size was answered well: a single command that was fast says nothing
// about 128.
func (c *pace) note(now time.Time, took time.Duration, n int, answered bool) {
	c.turn(now)
	if answered && n == 1 && (c.near == 0 || took < c.near) {
		c.near = max(took, 1)
	}
	trip, room := c.roundTrip(), c.limit/share
	switch beyond := took - trip; {
	case trip == 0:
	case beyond > room:
		c.size = max(c.size/2, 1)
	case !answered || beyond > room/2 || 2*n < c.size:
	case c.size < most:
		c.size = min(2*c.size, most)
	case n >= c.size && beyond <= trip:
		c.size = min(2*c.size, farthest)
	}
}

// patience is the least time that an exchange with the node should get: with less, connections would be given up
// only because the node is distant.
func (c *pace) patience() time.Duration { return min(4*c.roundTrip(), c.limit) }
