package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Bouncer is a pgbouncer before a server.
type Bouncer struct {
	port    servers.Port
	dir     string
	lines   []string // of its file
	process *servers.Process
}

// StartBouncer starts a pgbouncer before a server, for all of its databases, and ends it with the test. The mode is
// session, transaction or statement. Settings are further lines of its file, for instance "default_pool_size=2".
func StartBouncer(t testing.TB, server *Server, mode string, settings ...string) *Bouncer {
	t.Helper()
	b, err := newBouncer(server, mode, settings)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pgbouncer on %s said: %s", b.Addr(), b.process.Output())
		}
		if err := b.close(); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	err = b.process.Start()
	if err == nil {
		err = server.ready(b.process, b.port)
	}
	if err != nil {
		t.Fatalf("pgtest: pgbouncer: %v", err)
	}
	return b
}

func newBouncer(server *Server, mode string, settings []string) (b *Bouncer, err error) {
	path, err := bouncerProgram()
	if err != nil {
		return nil, err
	}
	b = new(Bouncer)
	if b.port, err = servers.ClaimPort(0); err != nil {
		return nil, err
	}
	if b.dir, err = servers.Folder("pgbouncer-", server.as); err != nil {
		return nil, errors.Join(err, b.port.Release())
	}
	// Where several lines set one thing, the last does. It would wait 15 s after a server that did not let it in.
	lines := append([]string{
		"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d user=postgres", server.port.Number),
		"[pgbouncer]", "listen_addr=127.0.0.1", fmt.Sprintf("listen_port=%d", b.port.Number), "unix_socket_dir=",
		"auth_type=any", "pool_mode=" + mode, "max_client_conn=1000", "server_login_retry=1",
	}, settings...)
	if err := b.configure(lines); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.process = &servers.Process{Path: path, Args: []string{b.file()}, Log: filepath.Join(b.dir, "log"), As: server.as}
	return b, nil
}

func (b *Bouncer) file() string { return filepath.Join(b.dir, "pgbouncer.ini") }

func (b *Bouncer) configure(lines []string) error {
	b.lines = lines
	return os.WriteFile(b.file(), []byte(strings.Join(lines, "\n")+"\n"), 0o644) //nolint:gosec // its account reads it
}

// Switch sets the mode of connections that are made from now on.
func (b *Bouncer) Switch(t testing.TB, mode string) {
	t.Helper()
	err := b.configure(append(b.lines, "pool_mode="+mode))
	if err == nil {
		err = syscall.Kill(b.process.Pid(), syscall.SIGHUP)
	}
	if err != nil {
		t.Fatalf("pgtest: pgbouncer: %v", err)
	}
}

func (b *Bouncer) close() error {
	var killed error
	if b.process != nil {
		killed = b.process.Kill()
	}
	return errors.Join(killed, os.RemoveAll(b.dir), b.port.Release())
}

// Addr returns the bouncer's address, host and port.
func (b *Bouncer) Addr() string { return b.port.Addr() }

// URL returns the connection string of the database postgres by way of the bouncer.
func (b *Bouncer) URL() string { return urlOf(b.port, "postgres") }

// To returns the connection string of a database of the server, as [Server.Database] returns it, by way of the bouncer.
func (b *Bouncer) To(database string) string {
	to, err := url.Parse(database)
	if err != nil {
		panic("pgtest: not a connection string of a server: " + err.Error())
	}
	to.Host = b.Addr()
	return to.String()
}
