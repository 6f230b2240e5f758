package redistest

import (
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// The functions below are those of package servers, so that tests on Redis need one package.

// Eventually waits until condition holds, and fails the test if it does not within limit. It checks the condition
// every few milliseconds, always on the calling goroutine, and once more when the limit has passed.
func Eventually(t testing.TB, limit time.Duration, condition func() bool, message string) {
	t.Helper()
	servers.Eventually(t, limit, condition, message)
}

// Receive returns what comes over a channel, or its zero value once it is closed. It fails the test if neither happens
// within limit.
func Receive[T any](t testing.TB, limit time.Duration, from <-chan T, message string) T {
	t.Helper()
	return servers.Receive(t, limit, from, message)
}

// Key returns a key's name that no other test of any run uses, for the shared server.
func Key(t testing.TB) string {
	t.Helper()
	return servers.Key(t)
}

// InParallel has up to n tests of a package run at a time, however few processors there are, because they mostly wait.
// An explicit -parallel takes precedence. Its TestMain calls this first.
func InParallel(n int) { servers.InParallel(n) }

// Freeze stops a process with SIGSTOP and returns when all of it stands still: sending the signal only queues it.
func Freeze(p *os.Process) error { return servers.Freeze(p) }
