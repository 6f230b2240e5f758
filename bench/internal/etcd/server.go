// Package etcd starts a single etcd that belongs to a measurement: a child process on free loopback ports, with its
// defaults, so that every write is on the disk before it is answered.
package etcd

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

const startLimit = 20 * time.Second

// Program is an etcd that can be started.
type Program struct{ path, Version string }

// Find looks for the program. An error says in a sentence why etcd cannot be measured.
func Find() (*Program, error) {
	path, err := etcdtest.Program("etcd")
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(path, "--version").Output()
	found := regexp.MustCompile(`etcd Version: (\S+)`).FindSubmatch(out)
	if err != nil || found == nil {
		return nil, fmt.Errorf("%s --version does not tell its version", path)
	}
	return &Program{path, string(found[1])}, nil
}

// Server is a running etcd.
type Server struct {
	addr    string
	dir     string
	process *child.Process
}

// Start starts a server and waits until it answers.
func (p *Program) Start() (*Server, error) {
	var errs []error
	for range 5 { // a port that looked free may be somebody else's by now
		s, err := p.start(child.Port(), child.Port())
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (p *Program) start(port, peerPort int) (*Server, error) {
	dir, err := os.MkdirTemp("", "holdfast-etcd-")
	if err != nil {
		return nil, err
	}
	s := &Server{addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	own, peers := "http://"+s.addr, fmt.Sprintf("http://127.0.0.1:%d", peerPort)
	cmd := exec.Command(p.path, "--data-dir", dir, "--log-level", "error",
		"--listen-client-urls", own, "--advertise-client-urls", own,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "default="+peers)
	if s.process, err = child.Start(cmd); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.greet(own + "/health"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// greet waits for a server that has a leader, which is itself.
func (s *Server) greet(url string) error {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); {
		select {
		case <-s.process.Gone(): // as if another program has one of its ports
			return errors.New("etcd ended while starting")
		case <-time.After(20 * time.Millisecond):
		}
		answer, err := client.Get(url)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("etcd did not answer within %v", startLimit)
}

// Addr is host and port for clients.
func (s *Server) Addr() string { return s.addr }

// Close ends the server and removes its data.
func (s *Server) Close() error { return errors.Join(s.process.Kill(), os.RemoveAll(s.dir)) }
