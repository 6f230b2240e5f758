package pgtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Run runs statements in the database postgres, each in a transaction of its own, and returns the rows, a line each,
// with | between the columns. It fails the test if one fails, or if the server does not answer for long.
func (s *Server) Run(t testing.TB, sql string) string {
	t.Helper()
	return Run(t, s.URL(), sql)
}

// Run is [Server.Run] in any database, by its connection string.
func Run(t testing.TB, url, sql string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	said, err := output(Client(t, ctx, url, sql))
	if err != nil {
		t.Fatalf("pgtest: %s: %v", sql, err)
	}
	return strings.TrimSuffix(said, "\n")
}

// Client returns a process that does what [Run] does, which its caller starts: for what takes long, or may fail.
func Client(t testing.TB, ctx context.Context, url, sql string) *exec.Cmd {
	t.Helper()
	path, err := program("psql")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cmd := command(ctx, nil, path, "-X", "-At", "-q", "-v", "ON_ERROR_STOP=1", url)
	cmd.Stdin = strings.NewReader(sql)
	return cmd
}

// run runs a program of PostgreSQL's as the server's account.
func (s *Server) run(name string, args ...string) error {
	path, err := program(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = output(command(ctx, s.as, path, args...))
	return err
}

func command(ctx context.Context, as *syscall.Credential, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	// The user's own PGHOST and such must not lead elsewhere.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") })
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = "/" // the account might not see the present one
	return cmd
}

// output runs a program and returns what it says. Its error has what the program says of it.
func output(cmd *exec.Cmd) (string, error) {
	var complaint strings.Builder
	cmd.Stderr = &complaint
	said, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", cmd.Path, err, said, complaint.String())
	}
	return string(said), nil
}
