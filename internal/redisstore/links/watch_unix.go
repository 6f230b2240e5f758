//go:build unix

package links

import "syscall"

// readNow reads what has arrived. The sockets of package net do not block.
func readNow(fd uintptr, p []byte) (int, error) { return syscall.Read(int(fd), p) }
