//go:build unix && !linux && !aix

package job

import "syscall"

// family are the living descendants of this process. Without adoption they cannot be known; the command's process group
// is ended instead.
type family struct{ members map[int]struct{} }

func adopt() error { return nil }

func (*family) look() {}

func (*family) signal(syscall.Signal, int) (denied []int) { return nil }

func (*family) close() {}
