package etcdtest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// patience bounds what must happen. Nothing is measured against it.
const patience = 2 * time.Minute

// Server is an etcd that belongs to a test: the only one, or a member of a [Cluster].
type Server struct {
	owned   servers.Owned
	name    string
	port    servers.Port // for clients
	peers   servers.Port // for the other members
	dir     string       // with the data and the log
	process *servers.Process
}

// Start starts a server of its own for a test, waits until it has a leader, and kills it when the test ends. Flags are
// added to those of the command line, for instance "--auth-token-ttl=1".
func Start(t testing.TB, flags ...string) *Server {
	t.Helper()
	s, err := launch("etcd", flags)
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	s.belongsTo(t)
	return s
}

// StartDistributions is [Start] with the etcd that the system's package manager installs. It also returns its version.
func StartDistributions(t testing.TB) (s *Server, version string) {
	t.Helper()
	path, version, err := distributions()
	if err == nil {
		s, err = launch(path, nil)
	}
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	s.belongsTo(t)
	return s, version
}

func (s *Server) belongsTo(t testing.TB) {
	s.owned.BelongTo(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("etcd %s on %s said: %s", s.name, s.Addr(), s.process.Output())
		}
		if err := s.close(); err != nil {
			t.Errorf("etcdtest: %v", err)
		}
	})
}

// launch starts an empty server. The program is one of ours, by its name, or one that has a path.
func launch(program string, flags []string) (*Server, error) {
	s, err := prepare("alone", program)
	if err != nil {
		return nil, err
	}
	s.aloneWith(flags)
	if err := s.boot(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare makes a server that has no flags and no data yet.
func prepare(name, program string) (s *Server, err error) {
	path := program
	if !filepath.IsAbs(program) {
		if path, err = Program(program); err != nil {
			return nil, err
		}
	}
	s = &Server{owned: servers.Owned{Kit: "etcdtest"}, name: name}
	if s.port, err = servers.ClaimPort(0); err != nil {
		return nil, err
	}
	if s.peers, err = servers.ClaimPort(0); err != nil {
		return nil, errors.Join(err, s.port.Release())
	}
	if s.dir, err = os.MkdirTemp("", "etcdtest-"); err != nil {
		return nil, errors.Join(err, s.port.Release(), s.peers.Release())
	}
	s.process = &servers.Process{Path: path, Log: filepath.Join(s.dir, "log")}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// aloneWith gives a server its flags, which is the only one of its cluster.
func (s *Server) aloneWith(flags []string) {
	s.process.Args = slices.Concat(s.flags("http://"+s.peers.Addr()), []string{
		"--initial-cluster", s.name + "=http://" + s.peers.Addr()}, flags)
}

// flags are those that all servers have. The other members find it at the advertised address.
func (s *Server) flags(advertised string) []string {
	return []string{"--name", s.name, "--data-dir", s.data(), "--log-level", "warn", "--unsafe-no-fsync",
		"--listen-client-urls", s.Endpoint(), "--advertise-client-urls", s.Endpoint(),
		"--listen-peer-urls", "http://" + s.peers.Addr(), "--initial-advertise-peer-urls", advertised}
}

// boot starts the program and waits until it has a leader.
func (s *Server) boot() error {
	if err := s.process.Start(); err != nil {
		return err
	}
	return s.ready()
}

// ready waits until the server says that it is well: it knows a leader, and what it is asked is agreed on.
func (s *Server) ready() error {
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	deadline := time.Now().Add(patience)
	for pause := servers.NewBackoff(); ; pause.Sleep() {
		late := time.Now().After(deadline)
		answer, err := client.Get(s.Endpoint() + "/health")
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(answer.Status)
		}
		switch {
		case !s.process.Alive():
			return fmt.Errorf("the server ended while starting: %s", s.process.Output())
		case late:
			return fmt.Errorf("the server on %s is not well within %v: %w: %s",
				s.Addr(), patience, err, s.process.Output())
		}
	}
}

func (s *Server) close() error {
	return errors.Join(s.process.Kill(), os.RemoveAll(s.dir), s.port.Release(), s.peers.Release())
}

// Addr returns the server's address for clients, host and port.
func (s *Server) Addr() string { return s.port.Addr() }

// Endpoint returns the URL of that address.
func (s *Server) Endpoint() string { return "http://" + s.Addr() }
