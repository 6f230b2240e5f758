package embedded

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// Narrow reports a 32-bit system. A miniredis keeps numbers in 32 bits there, and no lock works on it: neither the time
// nor a fencing token has room in them.
const Narrow = strconv.IntSize == 32

// Fits skips a test that needs a miniredis where no lock works on one.
func Fits(t testing.TB) {
	t.Helper()
	if Narrow {
		t.Skip("not run: miniredis keeps numbers in 32 bits on a 32-bit system, and a lock needs more")
	}
}

// Miniredis starts a miniredis for a test, where locks work on one. Its keys age only when the test says so.
func Miniredis(t testing.TB) *miniredis.Miniredis {
	t.Helper()
	Fits(t)
	return miniredis.RunT(t)
}

// Server is a running server.
type Server struct {
	redis *miniredis.Miniredis
	addr  string
}

// Start starts an empty server on a free loopback port.
func Start() (*Server, error) {
	redis, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("embedded: %w", err)
	}
	// Without this, keys would never expire: miniredis is made for tests that move time by hand.
	redis.ClockTTL(true)
	return &Server{redis: redis, addr: redis.Addr()}, nil
}

// Addr returns the server's address, host and port.
func (s *Server) Addr() string { return s.addr }

// Close cuts all connections and waits until no goroutine of the server is left. Closing a closed server does
// nothing.
func (s *Server) Close() { s.redis.Close() }
