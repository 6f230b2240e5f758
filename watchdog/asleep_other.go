//go:build !linux

package watchdog

import "time"

// asleep cannot tell, so that the wall clock has to.
func asleep() (time.Duration, bool) { return 0, false }
