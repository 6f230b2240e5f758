//go:build unix && !aix

package job

import "time"

// instant is a point in time, in nanoseconds of a clock that all processes of this machine share.
type instant int64

func (i instant) add(d time.Duration) instant { return i + instant(d) }

// Validity converts the instant until which a hold is valid, which is a wall time, to the shared clock. A wall clock
// that is set between its two readings would falsify the result; the monotonic one shows that, and it tries again. The
// result is early by what the readings take.
func validity(read func() (time.Time, error)) (instant, error) {
	const steady = time.Millisecond
	for {
		now, before := sharedNow(), time.Now()
		until, err := read()
		if err != nil {
			return 0, err
		}
		after := time.Now()
		wall := after.Round(0).Sub(before.Round(0))
		if (wall - after.Sub(before)).Abs() < steady {
			return now.add(until.Round(0).Sub(before.Round(0))), nil
		}
	}
}
