package servers

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// ends are what Main calls when all tests have run.
var ends struct {
	sync.Mutex // guards calls
	calls      []func() error
}

// AtEnd has [Main] call end when all tests of the binary have run, whichever package's Main it was that the binary
// called. What was given last is called first.
func AtEnd(end func() error) {
	ends.Lock()
	defer ends.Unlock()
	ends.calls = append(ends.calls, end)
}

func callEnds() (ok bool) {
	ends.Lock()
	defer ends.Unlock()
	ok = true
	for _, end := range slices.Backward(ends.calls) {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "servers:", err)
			ok = false
		}
	}
	ends.calls = nil
	return ok
}

// Main runs the tests of a package, ends what they share, fails if goroutines are left, and exits.
func Main(m *testing.M, leakOptions ...goleak.Option) {
	os.Exit(run(m, leakOptions))
}

func run(m *testing.M, leakOptions []goleak.Option) int {
	code := m.Run()
	if !callEnds() {
		code = max(code, 1)
	}
	if code != 0 {
		return code // a failed test often leaves goroutines behind; its own message matters
	}
	if err := findLeaks(leakOptions); err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		return 1
	}
	return 0
}

// findLeaks waits longer than goleak does by default: a go-redis client that could not connect
// has a goroutine that sleeps for a second before it sees that the client was closed.
func findLeaks(options []goleak.Option) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := goleak.Find(options...)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// Key returns a name that no other test of any run uses, for a shared server.
func Key(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("%s:%016x", t.Name(), rand.Uint64())
}
