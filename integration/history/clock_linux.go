package history

import (
	"syscall"
	"time"
	"unsafe"
)

// monotonic reads CLOCK_MONOTONIC, which all processes of a machine share. Go's own monotonic reading
// counts from the start of each process.
func monotonic() time.Duration {
	const clockMonotonic = 1
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(
		syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic(errno)
	}
	return time.Duration(ts.Nano())
}
