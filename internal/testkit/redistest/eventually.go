package redistest

import (
	"testing"
	"time"
)

// Eventually waits until condition holds, and fails the test if it does not within limit. It checks the condition
// every few milliseconds, always on the calling goroutine, and once more when the limit has passed.
func Eventually(t testing.TB, limit time.Duration, condition func() bool, message string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for pause := newBackoff(); ; pause.sleep() {
		late := time.Now().After(deadline)
		if condition() {
			return
		}
		if late {
			t.Fatalf("not within %v: %s", limit, message)
		}
	}
}
