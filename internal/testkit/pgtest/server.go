package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// patience bounds what must happen. Nothing is measured against it.
const patience = 2 * time.Minute

// Server is a PostgreSQL that belongs to a test.
type Server struct {
	owned    servers.Owned
	settings []string
	as       *syscall.Credential
	port     servers.Port
	dir      string // with the data, the socket and the log
	process  *servers.Process

	mu          sync.Mutex // guards what follows
	standbys    int        // that were made of it
	synchronous []string   // those for whose word every commit waits
}

// Start starts a server of its own for a test, waits until it answers, and kills it when the test ends. Settings are
// added to those of the command line, for instance "fsync=on".
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := launch(settings)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	s.belongsTo(t)
	return s
}

func (s *Server) belongsTo(t testing.TB) {
	s.owned.BelongTo(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("PostgreSQL on %s said: %s", s.Addr(), s.process.Output())
		}
		if err := s.close(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
}

// launch starts an empty server.
func launch(settings []string) (*Server, error) {
	s, err := prepare(settings)
	if err != nil {
		return nil, err
	}
	// The locale of the machine would order texts in its own way.
	err = s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-N", "--locale=C", "--encoding=UTF8")
	if err == nil {
		err = s.boot()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare makes a server that has no data yet.
func prepare(settings []string) (s *Server, err error) {
	path, err := program("postgres")
	if err != nil {
		return nil, err
	}
	s = &Server{owned: servers.Owned{Kit: "pgtest"}, settings: settings}
	if s.as, err = servers.Account("postgres", "nobody"); err != nil {
		return nil, err
	}
	if s.port, err = servers.ClaimPort(0); err != nil {
		return nil, err
	}
	if s.dir, err = servers.Folder("pgtest-", s.as); err != nil {
		return nil, errors.Join(err, s.port.Release())
	}
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port.Number), "-k", s.dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200",
		"-c", "dynamic_shared_memory_type=mmap"} // in files of the server's own folder, which goes with it
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	s.process = &servers.Process{
		Path: path, Args: args, Log: filepath.Join(s.dir, "log"), As: s.as, Forks: true,
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// boot starts the program and waits until it lets somebody in.
func (s *Server) boot() error {
	if err := s.process.Start(); err != nil {
		return err
	}
	return s.ready(s.process, s.port)
}

// ready waits until what listens on a port lets somebody in.
func (s *Server) ready(process *servers.Process, port servers.Port) error {
	deadline := time.Now().Add(patience)
	for pause := servers.NewBackoff(); ; pause.Sleep() {
		late := time.Now().After(deadline)
		err := s.run("pg_isready", "-h", "127.0.0.1", "-p", strconv.Itoa(port.Number), "-U", "postgres")
		switch {
		case !process.Alive():
			return fmt.Errorf("the server ended while starting: %s", process.Output())
		case err == nil:
			return nil
		case late:
			return fmt.Errorf("the server did not answer on %s within %v: %w: %s", port.Addr(), patience, err,
				process.Output())
		}
	}
}

func (s *Server) close() error {
	return errors.Join(s.process.Kill(), s.freeSegment(), os.RemoveAll(s.dir), s.port.Release())
}

// freeSegment removes the segment of shared memory that shows a server whether another one has its data. A killed
// server leaves it behind, and a system has room for some thousands.
func (s *Server) freeSegment() error {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it stopped by itself
	}
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	if len(lines) < 8 {
		return nil // it was killed before it made one
	}
	fields := strings.Fields(lines[6]) // the key, and the number
	if len(fields) != 2 {
		return fmt.Errorf("postmaster.pid names no shared memory: %q", text)
	}
	if said, err := exec.Command("ipcrm", "-m", fields[1]).CombinedOutput(); err != nil {
		return fmt.Errorf("ipcrm -m %s: %w: %s", fields[1], err, said)
	}
	return nil
}

// Addr returns the server's address, host and port.
func (s *Server) Addr() string { return s.port.Addr() }

// URL returns the connection string of the database postgres, as its administrator.
func (s *Server) URL() string { return urlOf(s.port, "postgres") }

func urlOf(port servers.Port, database string) string {
	return fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", port.Addr(), database)
}

// Database makes a database and returns its connection string, so that the tests of a shared server are apart. There it
// is dropped when the test ends, and a session that is still in it is ended.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%016x", rand.Uint64())
	s.Run(t, "CREATE DATABASE "+name)
	if s.owned.IsShared() {
		t.Cleanup(func() { s.Run(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	}
	return urlOf(s.port, name)
}
