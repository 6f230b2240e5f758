//go:build !linux

package crashpoints_test

import "time"

// now reads the wall clock: the only one that processes share everywhere. A test that runs while it is
// set proves nothing.
func now() time.Duration { return time.Duration(time.Now().UnixNano()) }
