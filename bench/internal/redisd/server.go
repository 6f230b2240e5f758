package redisd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/bench/internal/child"
)

const (
	programVariable = "HOLDFAST_REDIS_SERVER"
	startLimit      = 20 * time.Second
)

// Server is one running Redis.
type Server struct {
	port    int
	process *child.Process
	admin   *redis.Client
}

// Start starts a server and waits until it answers.
func Start() (*Server, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	var errs []error
	for range 5 { // a port that looked free may be somebody else's by now
		s, err := startOn(program, child.Port())
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func find() (string, error) {
	names := []string{"redis-server", "valkey-server"}
	named := os.Getenv(programVariable)
	if named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if named != "" {
		return "", fmt.Errorf("%s is set to %s, which is no program", programVariable, named)
	}
	// Docker does not help here: some scenarios stop the process, and let it go on.
	return "", fmt.Errorf("found no Redis server: install redis-server or valkey-server, "+
		"or have %s name the program (a container does not do)", programVariable)
}

func startOn(program string, port int) (*Server, error) {
	cmd := exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--maxclients", "4096")
	cmd.Dir = os.TempDir()
	process, err := child.Start(cmd)
	if err != nil {
		return nil, err
	}
	s := &Server{port: port, process: process}
	s.admin = redis.NewClient(&redis.Options{Addr: s.Addr(), DialerRetries: 1, PoolSize: 2, Protocol: 2,
		DisableIdentity: true})
	if err := s.greet(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// greet waits for an answer of this very process: where two programs raced for the port, the other one
// answers as well.
func (s *Server) greet() error {
	deadline := time.Now().Add(startLimit)
	for time.Now().Before(deadline) {
		select {
		case <-s.process.Gone():
			return fmt.Errorf("the server on port %d ended while starting", s.port)
		case <-time.After(5 * time.Millisecond):
		}
		conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		if err != nil {
			continue
		}
		_ = conn.Close()
		info, err := s.info(context.Background(), "server")
		if err != nil {
			continue
		}
		if info["process_id"] != strconv.Itoa(s.process.PID()) {
			return fmt.Errorf("port %d is served by another process", s.port)
		}
		return nil
	}
	return fmt.Errorf("the server on port %d did not answer within %v", s.port, startLimit)
}

// Addr is host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Freeze stops the process where it stands: connections stay open and nothing is answered.
func (s *Server) Freeze() error { return s.process.Signal(syscall.SIGSTOP) }

// Thaw lets it go on.
func (s *Server) Thaw() error { return s.process.Signal(syscall.SIGCONT) }

// Close ends the server.
func (s *Server) Close() error { return errors.Join(s.process.Kill(), s.admin.Close()) }
