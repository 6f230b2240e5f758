//go:build !linux

package history

import "time"

// monotonic reads the wall clock: the only one that processes share everywhere. A run during which it is
// set proves nothing.
func monotonic() time.Duration { return time.Duration(time.Now().UnixNano()) }
