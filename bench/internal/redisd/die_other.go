//go:build !linux

package redisd

import "syscall"

func dieWithParent() *syscall.SysProcAttr { return nil }
