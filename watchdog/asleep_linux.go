package watchdog

import (
	"syscall"
	"time"
	"unsafe"
)

// asleep returns how long the machine has been suspended since it was started: CLOCK_BOOTTIME counts that time, and
// CLOCK_MONOTONIC does not. It reports false if the time is unknown.
func asleep() (time.Duration, bool) {
	const monotonic, boottime = 1, 7
	const attempts = 4
	var before, boot, after time.Duration
	for range attempts {
		var told [3]bool
		before, told[0] = read(monotonic)
		boot, told[1] = read(boottime)
		after, told[2] = read(monotonic)
		if told != [3]bool{true, true, true} {
			return 0, false
		}
		if after-before <= jitter {
			break
		}
	}
	return boot - before, true
}

func read(clock uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
