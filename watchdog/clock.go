package watchdog

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// jump is the smallest gain of the wall clock on the monotonic one that
	// counts as a suspension. What is lost below it is covered by [Margin].
	jump = 50 * time.Millisecond
	// jitter is how far two readings of an undisturbed pair of clocks may
	// differ: the pair is not read in one instant.
	jitter = time.Millisecond
)

// Clock tells the time since its creation, on the monotonic clock, plus the time
// for which the machine was suspended: its monotonic clock stands still then,
// while leases elsewhere run out. That the wall clock ran ahead of the monotonic
// one tells that there was something. On Linux CLOCK_BOOTTIME says for how long
// the machine was suspended, if it was, so that setting the wall clock changes
// nothing. Elsewhere the whole jump counts, and after a wall clock that was set
// forward the Clock is ahead of real time; a lease that is given up too early
// does no harm, one that is believed in too long does. Setting it back changes
// nothing anywhere. A virtual machine that its host stops does not know of it.
//
// A Clock never goes back: a call of [Clock.Now] that starts after another one
// returned does not tell less. It is safe for concurrent use.
type Clock struct {
	// read returns both clocks as of now. Fixed at creation.
	read func() (mono, wall time.Duration)

	// asleep returns how long the machine was suspended since some instant, if it
	// can tell. Fixed at creation.
	asleep func() (time.Duration, bool)
	slept  time.Duration // what it said last; guarded by mu

	suspended atomic.Int64 // sum of all suspensions, in nanoseconds; only grows
	offset    atomic.Int64 // wall - mono, as of the last jump or step back

	mu sync.Mutex // serialises writes of suspended and offset
}

// NewClock returns a Clock that starts at zero.
func NewClock() *Clock {
	base := time.Now()
	return newClock(func() (mono, wall time.Duration) {
		t := time.Now()
		return t.Sub(base), time.Duration(t.UnixNano())
	}, asleep)
}

func newClock(
	read func() (mono, wall time.Duration), asleep func() (time.Duration, bool),
) *Clock {
	c := &Clock{read: read, asleep: asleep}
	c.slept, _ = asleep()
	mono, wall := c.steady()
	c.offset.Store(int64(wall - mono))
	return c
}

// Now returns the time since the Clock was created. It costs one reading of
// the system's clocks and takes no lock, except when they moved apart.
func (c *Clock) Now() time.Duration {
	now, _ := c.now()
	return now
}

// Wall returns the wall time that the instant at of this clock stands for now:
// the wall clock's present reading plus what is left until at. The result has
// no monotonic reading, since that would stand still with a suspended machine.
func (c *Clock) Wall(at time.Duration) time.Time {
	now, wall := c.now()
	return time.Unix(0, int64(wall)).Add(at - now)
}

func (c *Clock) now() (now, wall time.Duration) {
	mono, wall := c.read()
	grown := wall - mono - time.Duration(c.offset.Load())
	if grown > jump || grown < -jitter {
		return c.apart()
	}
	// The offset was loaded first and is stored last: whoever sees the
	// offset after a jump also sees the jump in the sum.
	return mono + time.Duration(c.suspended.Load()), wall
}

// apart looks again and takes the difference into account. The readings that
// led here are no use: they may be older than a jump that another goroutine
// has meanwhile counted, would look like a step back, and have the same jump
// counted once more. Readings taken under the lock are ordered with the writes.
func (c *Clock) apart() (now, wall time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono, wall := c.steady()
	offset := wall - mono
	grown := offset - time.Duration(c.offset.Load())
	if grown > jump || grown < -jitter {
		c.suspended.Add(int64(c.suspensionLocked(grown)))
		c.offset.Store(int64(offset))
	}
	return mono + time.Duration(c.suspended.Load()), wall
}

// suspensionLocked is for how long the machine was suspended, as the wall clock moved
// by grown against the monotonic one. Less than the jitter is none.
func (c *Clock) suspensionLocked(grown time.Duration) time.Duration {
	slept, told := c.asleep()
	if !told {
		return max(grown, 0)
	}
	gain := slept - c.slept
	if gain <= jitter {
		return 0
	}
	c.slept = slept
	return gain
}

// steady reads until two readings agree. A thread that loses its CPU between
// the two halves of a reading sees a step that nobody made.
func (c *Clock) steady() (mono, wall time.Duration) {
	const attempts = 4
	mono, wall = c.read()
	for range attempts {
		before := wall - mono
		mono, wall = c.read()
		if (wall - mono - before).Abs() <= jitter {
			break
		}
	}
	return mono, wall
}
