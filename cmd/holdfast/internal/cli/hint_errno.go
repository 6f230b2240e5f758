//go:build !plan9

package cli

import "syscall"

const (
	errReset   = syscall.ECONNRESET
	errRefused = syscall.ECONNREFUSED
)
