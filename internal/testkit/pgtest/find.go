package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

const binVariable = "HOLDFAST_POSTGRES_BIN"

// program returns the path of a program of PostgreSQL's, and installs what is missing. All come from the folder of the
// server's, except clients that it lacks.
func program(name string) (string, error) {
	find := func() (string, error) {
		dir, err := folder()
		if err != nil {
			return "", err
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
		return exec.LookPath(name)
	}
	return orInstalled(name, find)
}

// bouncerProgram returns the path of pgbouncer, and installs it if it is missing.
func bouncerProgram() (string, error) {
	return orInstalled("pgbouncer", func() (string, error) {
		path, err := exec.LookPath("pgbouncer")
		if err != nil { // Debian installs it where only the administrator's PATH leads
			path, err = exec.LookPath("/usr/sbin/pgbouncer")
		}
		return path, err
	})
}

func orInstalled(name string, find func() (string, error)) (string, error) {
	path, err := find()
	if err == nil {
		return path, nil
	}
	installed := install()
	if path, err = find(); err != nil {
		return "", fmt.Errorf("found no %s: install PostgreSQL and pgbouncer, or set %s to the folder of PostgreSQL's "+
			"programs (%w)", name, binVariable, errors.Join(err, installed))
	}
	return path, nil
}

// folder returns where the server's program is.
func folder() (string, error) {
	if named := os.Getenv(binVariable); named != "" {
		if _, err := exec.LookPath(filepath.Join(named, "postgres")); err != nil {
			return "", fmt.Errorf("%s: %w", binVariable, err)
		}
		return named, nil
	}
	path, err := exec.LookPath("postgres")
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	var newest string
	version := -1
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	for _, path := range found {
		var of int
		if n, _ := fmt.Sscanf(path, "/usr/lib/postgresql/%d/", &of); n == 1 && of > version {
			newest, version = filepath.Dir(path), of
		}
	}
	if newest == "" {
		return "", err
	}
	return newest, nil
}

// install runs the script that installs the programs, once.
var install = sync.OnceValue(func() error {
	_, err := servers.RunScript("setup-postgres.sh")
	return err
})
