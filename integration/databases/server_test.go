package databases

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the drivers that the package names
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const (
	root     = "../.."
	patience = 2 * time.Minute // for servers to start: it only catches hangs
)

// program returns where a server's program is, and installs the package if it is not there. Debian keeps PostgreSQL's
// beside the path.
func program(t *testing.T, name, of string) string {
	t.Helper()
	find := func() string {
		if path, err := exec.LookPath(name); err == nil {
			path, err = filepath.EvalSymlinks(path)
			require.NoError(t, err)
			return path
		}
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
		require.NoError(t, err)
		found = append(found, "/usr/sbin/"+name)
		for _, path := range slices.Backward(found) {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
		return ""
	}
	if path := find(); path != "" {
		return path
	}
	said, _ := exec.CommandContext(t.Context(), root+"/scripts/install.sh", of).CombinedOutput()
	path := find()
	require.NotEmpty(t, path, "this test needs %s, of the package %s, and could not install it: %s", name, of, said)
	return path
}

// account is whom a server runs as: neither wants to be root, for whom the packages made users.
func account(t *testing.T, name string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	of, err := user.Lookup(name)
	require.NoError(t, err)
	uid, err := strconv.ParseUint(of.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(of.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// folder makes a folder that the server's account can use. The folders of testing are of this user alone.
func folder(t *testing.T, as *syscall.SysProcAttr) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	if as != nil {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			require.NoError(t, err)
			return os.Chown(path, int(as.Credential.Uid), int(as.Credential.Gid))
		}))
	}
	return dir
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().(*net.TCPAddr).Port
}

// start starts a server, which ends with the test, and returns its database when it answers.
func start(t *testing.T, driver, url string, as *syscall.SysProcAttr, args ...string) *sql.DB {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr, cmd.Stdout, cmd.Stderr, cmd.Dir = as, log, log, "/"
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGQUIT) // for PostgreSQL, whose children a SIGKILL would leave
		if driver == "mysql" {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait() // it was killed, as intended
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("%s", said)
		}
		_ = log.Close()
	})
	db, err := sql.Open(driver, url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	redistest.Eventually(t, patience, func() bool { return db.PingContext(t.Context()) == nil }, "the server answers")
	return db
}

// postgres starts a PostgreSQL.
func postgres(t *testing.T) (db *sql.DB, url string) {
	t.Helper()
	initdb, server := program(t, "initdb", "postgresql"), program(t, "postgres", "postgresql")
	as := account(t, "postgres")
	dir, port := folder(t, as), freePort(t)
	first := exec.CommandContext(t.Context(), initdb, "-D", dir, "-U", "postgres", "-A", "trust", "-N", "--locale=C")
	first.SysProcAttr, first.Dir = as, "/"
	said, err := first.CombinedOutput()
	require.NoError(t, err, "%s", said)
	url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	return start(t, "pgx", url, as, server, "-D", dir, "-p", strconv.Itoa(port), "-k", dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"), url
}

// mariadb starts a MariaDB, which speaks MySQL.
func mariadb(t *testing.T) *sql.DB {
	t.Helper()
	server := program(t, "mariadbd", "mariadb")
	install := program(t, "mariadb-install-db", "mariadb")
	as := account(t, "mysql")
	dir, port := folder(t, as), freePort(t)
	first := exec.CommandContext(t.Context(), install, "--no-defaults", "--datadir="+dir, "--skip-test-db",
		"--auth-root-authentication-method=normal")
	first.SysProcAttr, first.Dir = as, "/"
	said, err := first.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return start(t, "mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/mysql", port), as, server, "--no-defaults",
		"--datadir="+dir, "--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--socket="+dir+"/socket",
		"--innodb-flush-log-at-trx-commit=0")
}
