package databases

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the drivers that the package names
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	root     = "../.."
	patience = 2 * time.Minute // for MariaDB to start: it only catches hangs
)

func open(t *testing.T, driver, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// postgres starts a PostgreSQL.
func postgres(t *testing.T) (db *sql.DB, url string) {
	t.Helper()
	url = pgtest.Start(t).URL()
	return open(t, "pgx", url), url
}

// mariaDBProgram returns where a program of MariaDB's is, and installs the package if it is not there.
func mariaDBProgram(t *testing.T, name string) string {
	t.Helper()
	find := func() (string, error) {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.EvalSymlinks(path)
		}
		return exec.LookPath("/usr/sbin/" + name)
	}
	if path, err := find(); err == nil {
		return path
	}
	said, _ := exec.CommandContext(t.Context(), root+"/scripts/install.sh", "mariadb").CombinedOutput()
	path, err := find()
	require.NoError(t, err, "this test needs %s of MariaDB, and could not install it: %s", name, said)
	return path
}

// mariadb starts a MariaDB, which speaks MySQL.
func mariadb(t *testing.T) *sql.DB {
	t.Helper()
	server, install := mariaDBProgram(t, "mariadbd"), mariaDBProgram(t, "mariadb-install-db")
	as, err := servers.Account("mysql")
	require.NoError(t, err)
	dir, err := servers.Folder("mariadb-", as)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	port, err := servers.ClaimPort(0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, port.Release()) })

	log := filepath.Join(t.TempDir(), "log")
	start := func(path string, args ...string) *servers.Process {
		process := &servers.Process{Path: path, Log: log, As: as, Args: append([]string{"--no-defaults"}, args...)}
		require.NoError(t, process.Start())
		t.Cleanup(func() {
			require.NoError(t, process.Kill())
			if t.Failed() {
				t.Log(process.Output())
			}
		})
		return process
	}
	first := start(install, "--datadir="+dir, "--skip-test-db", "--auth-root-authentication-method=normal")
	servers.Eventually(t, patience, func() bool { return !first.Alive() }, "the data folder is made")
	start(server, "--datadir="+dir, "--port="+strconv.Itoa(port.Number), "--bind-address=127.0.0.1",
		"--socket="+dir+"/socket", "--innodb-flush-log-at-trx-commit=0")
	db := open(t, "mysql", fmt.Sprintf("root@tcp(%s)/mysql", port.Addr()))
	servers.Eventually(t, patience, func() bool { return db.PingContext(t.Context()) == nil }, "MariaDB answers")
	return db
}
