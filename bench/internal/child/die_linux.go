package child

import "syscall"

// dieWithParent makes the kernel end a child when this program ends in a way that cleans nothing up.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
