package servers

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// Alone runs fn outside of any test, for programs that need servers. The argument of fn stands in for a test: it owns
// servers and proxies, which end with it. Alone reports whether all went well, and prints what did not.
func Alone(fn func(t testing.TB)) (ok bool) {
	l := &alone{}
	done := make(chan struct{})
	go func() { // a failure ends it, as it would end a test's
		defer close(done)
		defer l.clean()
		fn(l)
	}()
	<-done
	return !l.failed.Load()
}

// alone stands in for a test. The embedded interface is nil: only the methods below may be called.
type alone struct {
	testing.TB
	failed atomic.Bool

	mu       sync.Mutex // guards cleanups
	cleanups []func()
}

// Helper implements testing.TB.
func (l *alone) Helper() {}

// Cleanup implements testing.TB.
func (l *alone) Cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cleanups = append(l.cleanups, f)
}

// Errorf implements testing.TB.
func (l *alone) Errorf(format string, args ...any) {
	l.failed.Store(true)
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

// Failed implements testing.TB.
func (l *alone) Failed() bool { return l.failed.Load() }

// Logf implements testing.TB.
func (l *alone) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Fatalf implements testing.TB.
func (l *alone) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit()
}

// Fatal implements testing.TB.
func (l *alone) Fatal(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

// Skip implements testing.TB: outside of a test nobody counts what was skipped, so it fails.
func (l *alone) Skip(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

// TempDir implements testing.TB.
func (l *alone) TempDir() string {
	dir, err := os.MkdirTemp("", "holdfast-alone-")
	if err != nil {
		l.Fatalf("%v", err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (l *alone) clean() {
	for _, f := range slices.Backward(l.cleanups) {
		f()
	}
}
