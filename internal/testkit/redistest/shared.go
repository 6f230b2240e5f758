package redistest

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
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
		if shared.err == nil {
			servers.AtEnd(shared.server.close)
		}
	}
	if shared.err != nil {
		t.Fatalf("redistest: %v", shared.err)
	}
	return shared.server
}

// Main runs the tests of a package, ends the shared server, fails if goroutines are left, and
// exits. A TestMain needs nothing else:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M, leakOptions ...goleak.Option) { servers.Main(m, leakOptions...) }
