package zktest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// shared is the server of the whole binary.
var shared servers.Shared[*Server]

// Shared returns the one server that all tests of the binary may use, each with names of its own. The first call starts
// it, with no options, and [Main] ends it. None of them may disturb it: use [Start] for that.
func Shared(t testing.TB) *Server {
	t.Helper()
	server, err := startShared()
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
	return server
}

func startShared() (*Server, error) {
	return shared.Get(func() (*Server, error) { return launch(Options{}) }, (*Server).close)
}

// Main runs the tests of a package, ends the shared server, fails if goroutines are left, and exits. A TestMain needs
// nothing else:
//
//	func TestMain(m *testing.M) { zktest.Main(m) }
func Main(m *testing.M, leakOptions ...goleak.Option) { servers.Main(m, leakOptions...) }

// Eventually waits until condition holds, and fails the test if it does not within a limit that only catches hangs.
func Eventually(t testing.TB, condition func() bool, message string) {
	t.Helper()
	servers.Eventually(t, patience, condition, message)
}
