package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// busOffset is how far above its port a node of a cluster has another.
const busOffset = 10000

// startLimit bounds one start of a server.
const startLimit = 30 * time.Second

// Server is a Redis server that belongs to a test.
type Server struct {
	owned   servers.Owned
	port    servers.Port
	host    string
	dir     string
	ownDir  bool
	process *servers.Process // nil: not made yet

	mu           sync.Mutex // guards what follows
	major, minor int
}

// Option changes how a server is started.
type Option func(*config)

type config struct {
	args    []string // extra arguments
	head    []string // instead of the default arguments: a Sentinel's
	program string   // instead of what the environment names, or is installed
	dir     string
	host    string // "": the IPv4 loopback address
	port    int
	bus     bool // the port + 10000 must be free as well
}

// WithArgs adds arguments for the server program, for instance "--appendonly", "yes". They come
// last and override the defaults.
func WithArgs(args ...string) Option {
	return func(c *config) { c.args = append(c.args, args...) }
}

// WithDir makes the server work in dir, which remains afterwards. By default the server has its
// own directory, which is removed with it.
func WithDir(dir string) Option { return func(c *config) { c.dir = dir } }

// OnIPv6 makes the server, and a lab of them, listen on the IPv6 loopback address alone.
func OnIPv6() Option { return func(c *config) { c.host = "::1" } }

// WithPort makes the server listen on port instead of a free one.
func WithPort(port int) Option { return func(c *config) { c.port = port } }

// Start starts a server that keeps nothing on disk, waits until it answers, and kills it when
// the test ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	var c config
	for _, opt := range opts {
		opt(&c)
	}
	return startFor(t, c)
}

func startFor(t testing.TB, c config) *Server {
	t.Helper()
	s, err := launch(c)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	s.owned.BelongTo(t)
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Errorf("redistest: %v", err)
		}
	})
	return s
}

// launch starts a server. Another test binary can take a port that looked free before the
// server binds it, so launch tries a few ports unless the caller requires a certain one.
func launch(c config) (*Server, error) {
	attempts := 5
	if c.port != 0 {
		attempts = 1
	}
	var errs []error
	for range attempts {
		s, err := launchOnce(c)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		if errors.Is(err, errNoServer) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func launchOnce(c config) (s *Server, err error) {
	s = &Server{
		owned: servers.Owned{Kit: "redistest"}, port: servers.Port{Number: c.port},
		host: cmp.Or(c.host, "127.0.0.1"), dir: c.dir,
	}
	if c.port == 0 {
		above := 0
		if c.bus {
			above = busOffset
		}
		if s.port, err = servers.ClaimPort(above); err != nil {
			return nil, err
		}
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "redistest-"); err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.ownDir = true
	}
	path := c.program
	if path == "" {
		path, err = program()
	}
	if err == nil {
		s.process = &servers.Process{Path: path, Args: s.arguments(c), Log: filepath.Join(s.dir, "server.log")}
		err = s.boot()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) arguments(c config) []string {
	args := c.head
	if args == nil {
		// A full synchronisation waits 5 s for more replicas by default.
		args = []string{"--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0"}
	}
	args = append(args[:len(args):len(args)],
		"--bind", s.host, "--port", strconv.Itoa(s.port.Number),
		"--daemonize", "no", "--dir", s.dir)
	return append(args, c.args...)
}

// boot starts the program and waits until it answers.
func (s *Server) boot() error {
	if err := s.process.Start(); err != nil {
		return err
	}
	deadline := time.Now().Add(startLimit)
	var last error
	for pause := servers.NewBackoff(); time.Now().Before(deadline); pause.Sleep() {
		if !s.process.Alive() {
			return fmt.Errorf("the server ended while starting: %s", s.process.Output())
		}
		if last = s.greet(); last == nil {
			return nil
		}
	}
	return fmt.Errorf("the server did not answer on %s within %v: %w: %s",
		s.Addr(), startLimit, last, s.process.Output())
}

// greet checks that the server answers, and that it is ours: if two binaries raced for the
// port, the other one's server would answer as well.
func (s *Server) greet() error {
	// Refused connections are normal at first, and a client would log every one.
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return err
	}
	_ = conn.Close()
	rdb := s.admin()
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return err
	}
	text, err := rdb.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	pid := s.process.Pid()
	if got := info["process_id"]; got != strconv.Itoa(pid) {
		return fmt.Errorf("port %d is served by process %s, not by %d", s.port.Number, got, pid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = fmt.Sscanf(info["redis_version"], "%d.%d", &s.major, &s.minor)
	return err
}

// admin returns a client for the helpers' own commands, which the caller closes. As many failed
// dials as the pool is large would leave a goroutine of go-redis that outlives Close by a
// second, hence the pool's size.
func (s *Server) admin() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: s.Addr(), Protocol: 2, DisableIdentity: true, PoolSize: 10,
		DialerRetries: 1, MaxRetries: -1, ContextTimeoutEnabled: true,
	})
}

// Addr returns the server's address, host and port.
func (s *Server) Addr() string { return net.JoinHostPort(s.host, portOf(s)) }

// Host returns the IP address that the server listens on.
func (s *Server) Host() string { return s.host }

// Port returns the server's port.
func (s *Server) Port() int { return s.port.Number }

// Dir returns the directory the server works in.
func (s *Server) Dir() string { return s.dir }

// Version returns the version of Redis that the server implements, for instance 7 and 2; a
// Valkey server reports the Redis version with which it is compatible.
func (s *Server) Version() (major, minor int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.major, s.minor
}

// Options returns fresh options for a client of the server.
func (s *Server) Options() *redis.Options { return &redis.Options{Addr: s.Addr()} }

// Client returns a client with a pool of its own that is closed when the test ends.
func (s *Server) Client(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(s.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (s *Server) close() error {
	var errs []error
	if s.process != nil {
		errs = append(errs, s.process.Kill())
	}
	if s.ownDir {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	errs = append(errs, s.port.Release())
	return errors.Join(errs...)
}
