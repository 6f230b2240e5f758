//go:build !linux

package redistest

import "syscall"

// dieWithParent does nothing where the kernel offers no such signal: there a server outlives a test binary that is
// killed.
func dieWithParent() *syscall.SysProcAttr { return nil }

func frozen(int) bool { return true }
