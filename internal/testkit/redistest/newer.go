package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// AtLeast starts a server of that version or a newer one: the server that tests find, if it is one, or else the Valkey
// that scripts/fetch-servers.sh fetches. A Valkey counts by its own version, which began with 7.2. Without either the
// test fails.
func AtLeast(t testing.TB, major, minor int) Option {
	t.Helper()
	path, err := program()
	if err == nil && !isAtLeast(path, major, minor) {
		path, err = fetched()
	}
	if err != nil {
		t.Fatalf("redistest: the test needs version %d.%d of Redis or Valkey, or a newer one: %v", major, minor, err)
	}
	return func(c *config) { c.program = path }
}

var serverBanner = regexp.MustCompile(`^(?:Redis|Valkey) server v=(\d+)\.(\d+)`)

// isAtLeast reports that a program says of itself that it is of that version, or a newer one.
func isAtLeast(path string, major, minor int) bool {
	said, err := exec.Command(path, "--version").Output()
	of := serverBanner.FindSubmatch(said)
	if err != nil || of == nil {
		return false
	}
	x, _ := strconv.Atoi(string(of[1]))
	y, _ := strconv.Atoi(string(of[2]))
	return x > major || x == major && y >= minor
}

// fetched is the program of the Valkey that the script fetches, once for each binary.
var fetched = sync.OnceValues(func() (path string, err error) {
	script, err := scriptOf("fetch-servers.sh")
	if err != nil {
		return "", err
	}
	var said strings.Builder
	fetch := exec.Command(script, "valkey")
	fetch.Stderr = &said
	line, err := fetch.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	_, path, found := strings.Cut(strings.TrimSpace(string(line)), " ")
	if !found {
		return "", fmt.Errorf("%s printed %q", script, line)
	}
	return path, nil
})

// scriptOf is the path of a script of the repository in which the test runs.
func scriptOf(name string) (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, "scripts", name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no scripts/" + name + " above the working directory")
		}
		dir = above
	}
	return "", err
}
