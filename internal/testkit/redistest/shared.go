package redistest

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// shared is the server of the whole binary.
var shared servers.Shared[*Server]

// Shared returns the one server that all tests of the binary may use. The first call starts it
// and [Main] ends it. Tests use different keys; none of them may kill, stop or flush the server,
// or count its commands: use [Start] for that.
func Shared(t testing.TB) *Server {
	t.Helper()
	server, err := shared.Get(func() (*Server, error) { return launch(config{}) }, (*Server).close)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return server
}

// Main runs the tests of a package, ends the shared server, fails if goroutines are left, and
// exits. A TestMain needs nothing else:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M, leakOptions ...goleak.Option) { servers.Main(m, leakOptions...) }
