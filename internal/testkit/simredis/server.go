package simredis

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
)

// Server is a simulated Redis that belongs to a test. Its methods may be called by any goroutine
// of the bubble.
type Server struct {
	t       testing.TB
	redis   *miniredis.Miniredis
	done    chan struct{} // closed when the server ends
	running sync.WaitGroup

	mu        sync.Mutex // guards what follows
	conns     map[*conn]bool
	dialed    int // connections
	dials     int // of clients
	dialFault DialFault
	fault     Fault
	thawed    chan struct{} // closed unless the server is frozen
	clients   []*redis.Client
	ended     bool
}

// New starts an empty server. When the test or the bubble ends, it closes the clients that [Server.Client] made
// and joins all of its goroutines.
func New(t testing.TB) *Server {
	t.Helper()
	embedded.Fits(t)
	s := &Server{
		t: t, redis: miniredis.NewMiniRedis(), done: make(chan struct{}),
		conns: make(map[*conn]bool), thawed: make(chan struct{}),
	}
	close(s.thawed)
	s.redis.ClockTTL(true)
	// Dial is the way to start a miniredis that does not listen; the connection itself is not used.
	first, err := s.redis.Dial()
	if err != nil {
		t.Fatalf("simredis: %v", err)
	}
	_ = first.Close()
	t.Cleanup(s.stop)
	return s
}

// Options returns fresh options for a client of the server.
func (s *Server) Options() *redis.Options {
	return &redis.Options{
		// Never dialed, but numeric: resolving a name would leave the bubble.
		Addr: "127.0.0.1:6379",
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if err := s.admit(ctx); err != nil {
				return nil, err
			}
			return s.Dial()
		},
		// No call waits for a connection: go-redis reuses the timers of such waits, and a bubble's timer is fatal
		// to a later user outside.
		PoolSize: 4096,
		// miniredis does not know these commands anyway.
		DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

// Client returns a client with a pool of its own that is closed when the test ends.
func (s *Server) Client() *redis.Client {
	rdb := redis.NewClient(s.Options())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = append(s.clients, rdb)
	return rdb
}

// Miniredis returns the server's engine, to inspect and prepare keys.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.redis }

// Dial connects to the server.
func (s *Server) Dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, net.ErrClosed
	}
	client, pipe := net.Pipe()
	s.dialed++
	c := newConn(s, s.dialed, pipe)
	s.conns[c] = true
	s.running.Go(c.receive)
	s.running.Go(c.execute)
	s.running.Go(c.reply)
	return &socket{Conn: client}, nil
}

// SetFault makes fault decide about every request from now on; nil lets all of them pass.
func (s *Server) SetFault(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *Server) decide(conn int, args []string) Verdict {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return Pass
	}
	return fault(conn, args)
}

// Freeze stops the server as SIGSTOP would: connections stay open and accept bytes, nothing is executed, and time
// goes on for the keys.
func (s *Server) Freeze() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.frozenLocked() {
		s.thawed = make(chan struct{})
	}
}

// Thaw lets a frozen server go on: it executes the requests that it received meanwhile.
func (s *Server) Thaw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozenLocked() {
		close(s.thawed)
	}
}

func (s *Server) frozenLocked() bool {
	select {
	case <-s.thawed:
		return false
	default:
		return true
	}
}

// await waits while the server is frozen. It returns false if the server ends.
func (s *Server) await() bool {
	s.mu.Lock()
	thawed := s.thawed
	s.mu.Unlock()
	select {
	case <-s.done:
		return false
	case <-thawed:
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// sleep waits for d. It returns false if the server ends before.
func (s *Server) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.done:
		return false
	case <-timer.C:
		return true
	}
}

// CutAll hangs up on all clients.
func (s *Server) CutAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.pipe.Close()
	}
}

func (s *Server) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// stop ends the server and waits until no goroutine of it is left.
func (s *Server) stop() {
	s.mu.Lock()
	clients := s.clients
	s.ended = true
	s.mu.Unlock()
	for _, rdb := range clients {
		_ = rdb.Close() // the test may have closed it already
	}
	close(s.done)
	s.CutAll()
	s.running.Wait()
	s.redis.Close()
}
