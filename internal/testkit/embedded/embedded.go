package embedded

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

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
