package watchdog

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// jump is the smallest gain of the wall clock on the monotonic one that
	// counts as a suspension. [Margin] covers anything smaller.
	jump = 50 * time.Millisecond
	// jitter is how far two readings of an undisturbed pair of clocks may differ,
	// because the two clocks are not read at the same instant.
	jitter = time.Millisecond
)

// Clock returns the time since its creation: the monotonic clock plus the time
// for which the machine was suspended. While the machine is suspended its
// monotonic clock stands still, but leases elsewhere run out. A suspension shows
// in the wall clock, which then runs ahead of the monotonic one. On Linux
// CLOCK_BOOTTIME tells how long the machine was suspended, if at all, so setting
// the wall clock changes nothing. Elsewhere the whole jump counts, and after a
// wall clock was set forward the Clock is ahead of real time. Giving a lease up
// too early does no harm; relying on it too long does. Setting the wall clock
// back changes nothing on any system. A virtual machine cannot detect that its
// host stopped it.
//
// A Clock never goes back: a call of [Clock.Now] that starts after another one
// returned does not return less. It is safe for concurrent use.
type Clock struct {
	// read returns both clocks as of now. Fixed at creation.
	read func() (mono, wall time.Duration)

	// asleep returns how long the machine was suspended since some instant, if
	// that is known. Fixed at creation.
	asleep func() (time.Duration, bool)
	slept  time.Duration // its last value; guarded by mu

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

// Advance puts the Clock forward by d, as a suspension of the machine for so long does: for tests. A [Wheel] notices
// when it looks at its clock the next time: within a second, or when something is scheduled before that. It panics if d
// is negative.
func (c *Clock) Advance(d time.Duration) {
	if d < 0 {
		panic("watchdog: Clock cannot be set back")
	}
	c.suspended.Add(int64(d))
}

// Wall returns the wall time that corresponds to the instant at of this clock:
// the wall clock's present reading plus the time left until at. The result has no
// monotonic reading, because that would stand still in a suspended machine.
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
	// The offset was loaded first and is stored last: a goroutine that sees the
	// offset after a jump also sees the jump in the sum.
	return mono + time.Duration(c.suspended.Load()), wall
}

// apart reads again, under the lock, and takes the difference into account. The
// readings that led here are unusable. They may be older than a jump that another
// goroutine has counted meanwhile; they would look like a step back and make the
// same jump count twice. Readings taken under the lock are ordered with the
// writes.
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

// suspensionLocked returns how long the machine was suspended, given that the
// wall clock gained grown on the monotonic one. A time below the jitter counts as
// none.
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

// steady reads until two readings agree. A thread that loses its CPU between the
// two halves of a reading sees a step that did not happen.
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
