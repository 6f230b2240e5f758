package servers

import (
	"testing"
	"time"
)

// Eventually waits until condition holds, and fails the test if it does not within limit. It checks the condition
// every few milliseconds, always on the calling goroutine, and once more when the limit has passed.
func Eventually(t testing.TB, limit time.Duration, condition func() bool, message string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for pause := NewBackoff(); ; pause.Sleep() {
		late := time.Now().After(deadline)
		if condition() {
			return
		}
		if late {
			t.Fatalf("not within %v: %s", limit, message)
		}
	}
}

// Receive returns what comes over a channel, or its zero value once it is closed. It fails the test if neither happens
// within limit.
func Receive[T any](t testing.TB, limit time.Duration, from <-chan T, message string) T {
	t.Helper()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatalf("not within %v: %s", limit, message)
		panic("unreachable")
	}
}
