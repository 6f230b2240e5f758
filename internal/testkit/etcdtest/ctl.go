package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Ctl runs a command of etcdctl and returns what it prints. It fails the test if the command fails, or if the server
// does not answer for long.
func (s *Server) Ctl(t testing.TB, args ...string) string {
	t.Helper()
	said, err := run(t, "etcdctl", slices.Concat([]string{"--endpoints=" + s.Endpoint(),
		"--command-timeout=" + patience.String()}, args)...)
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	return said
}

// Keys returns the keys below a prefix, in their order.
func (s *Server) Keys(t testing.TB, prefix string) []string {
	t.Helper()
	return strings.Fields(s.Ctl(t, "get", "--prefix", "--keys-only", prefix))
}

// Snapshot saves what the server has in a file, which ends with the test.
func (s *Server) Snapshot(t testing.TB) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "snapshot")
	s.Ctl(t, "snapshot", "save", file)
	return file
}

// Restore starts a server that goes on from a snapshot, by etcdutl. Flags are those of its command restore, for
// instance "--bump-revision=1000000".
func Restore(t testing.TB, snapshot string, flags ...string) *Server {
	t.Helper()
	s, err := prepare("alone", "etcd")
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	s.belongsTo(t)
	s.restore(t, snapshot, flags)
	s.aloneWith(nil)
	if err := s.boot(); err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	return s
}

// Rewind has a server, which is alone, go on from a snapshot at the same address, as [Restore] does at another.
func (s *Server) Rewind(t testing.TB, snapshot string, flags ...string) {
	t.Helper()
	s.Kill()
	if err := os.RemoveAll(s.data()); err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	s.restore(t, snapshot, flags)
	s.Restart()
}

func (s *Server) restore(t testing.TB, snapshot string, flags []string) {
	t.Helper()
	peers := "http://" + s.peers.Addr()
	_, err := run(t, "etcdutl", slices.Concat([]string{"snapshot", "restore", snapshot, "--data-dir", s.data(),
		"--name", s.name, "--initial-cluster", s.name + "=" + peers, "--initial-advertise-peer-urls", peers}, flags)...)
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
}

// Background starts a command of etcdctl that goes on until it is ended, or the test ends. What it prints is in its
// Output.
func (s *Server) Background(t testing.TB, args ...string) *servers.Process {
	t.Helper()
	path, err := Program("etcdctl")
	if err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	p := &servers.Process{
		Path: path, Args: slices.Concat([]string{"--endpoints=" + s.Endpoint()}, args),
		Log: filepath.Join(t.TempDir(), "log"),
	}
	if err := p.Start(); err != nil {
		t.Fatalf("etcdtest: %v", err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// run runs one of the programs. Its error has what the program says.
func run(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	path, err := Program(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	// The user's own ETCDCTL_ENDPOINTS and such must not lead elsewhere.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD") })
	said, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s%s", err, said, failed.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSuffix(string(said), "\n"), nil
}
