//go:build !linux

package watchdog

import "time"

// asleep reports that the time is unknown, so the wall clock must decide.
func asleep() (time.Duration, bool) { return 0, false }
