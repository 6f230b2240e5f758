package redistest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// shared is the server of the whole binary.
var shared struct {
	sync.Mutex // guards what follows
	server     *Server
	err        error
}

// Shared returns the one server that all tests of the binary may use. The first call starts it
// and [Main] ends it. Tests use different keys; none of them may kill, stop or flush the server,
// or count its commands: use [Start] for that.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = launch(config{})
	}
	if shared.err != nil {
		t.Fatalf("redistest: %v", shared.err)
	}
	return shared.server
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		return nil
	}
	err := shared.server.close()
	shared.server = nil
	return err
}

// Main runs the tests of a package, ends the shared server, fails if goroutines are left, and
// exits. A TestMain needs nothing else:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M, leakOptions ...goleak.Option) {
	os.Exit(run(m, leakOptions))
}

func run(m *testing.M, leakOptions []goleak.Option) int {
	code := m.Run()
	stopExamples()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
		code = max(code, 1)
	}
	if code != 0 {
		return code // a failed test often leaves goroutines behind; its own message matters
	}
	if err := findLeaks(leakOptions); err != nil {
		fmt.Fprintln(os.Stderr, "redistest:", err)
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

// Key returns a key's name that no other test of any run uses, for the shared server.
func Key(t testing.TB) string {
	t.Helper()
	return fmt.Sprintf("%s:%016x", t.Name(), rand.Uint64())
}
