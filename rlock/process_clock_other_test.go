//go:build !linux

package rlock_test

import "time"

// processNow reads the wall clock: the only one that processes share everywhere. A test that runs while
// it is set proves nothing.
func processNow() time.Duration { return time.Duration(time.Now().UnixNano()) }
