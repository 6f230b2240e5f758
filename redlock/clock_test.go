package redlock_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// setClock is the wall clock of one server, which a test sets.
type setClock struct{ file string }

// newClockLab starts servers whose clocks can be set, by the library of the integration tests. That takes
// Linux and a C compiler, which is there where tests run with the race detector, so that its lack is a
// failure in continuous integration and a reason to skip elsewhere.
func newClockLab(t *testing.T, size int) (*lab, []setClock) {
	t.Helper()
	program := clockProgram(t)
	dir := t.TempDir()
	library := filepath.Join(dir, "clock.so")
	out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library,
		"../integration/testdata/clock.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	l := &lab{t: t}
	var clocks []setClock
	for i := range size {
		clock := setClock{filepath.Join(dir, fmt.Sprintf("clock%d", i))}
		require.NoError(t, os.WriteFile(clock.file, make([]byte, 8), 0o600))
		wrapper := filepath.Join(dir, fmt.Sprintf("redis-server%d", i))
		script := fmt.Sprintf("#!/bin/sh\nHOLDFAST_CLOCK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n",
			clock.file, library, program)
		require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // it is a program
		t.Setenv("HOLDFAST_REDIS_SERVER", wrapper)
		l.servers = append(l.servers, redistest.Start(t))
		clocks = append(clocks, clock)
	}
	return l, clocks
}

// ahead sets how far the server's clock is ahead of the machine's.
func (c setClock) ahead(t testing.TB, d time.Duration) {
	t.Helper()
	page := binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds()))
	file, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt(page, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// clockProgram finds the server's program.
func clockProgram(t *testing.T) string {
	t.Helper()
	lacks := func(what string) {
		if os.Getenv("CI") != "" {
			t.Fatal("the server's clock cannot be set: " + what)
		}
		t.Skip("not run: the server's clock cannot be set: " + what)
	}
	if runtime.GOOS != "linux" {
		t.Skip("not run: the server's clock can be set on Linux alone")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		lacks("there is no C compiler; install gcc")
	}
	program := os.Getenv("HOLDFAST_REDIS_SERVER")
	for _, name := range []string{"redis-server", "valkey-server"} {
		if program == "" {
			program, _ = exec.LookPath(name)
		}
	}
	if program == "" {
		lacks("there is no server program; install redis-server")
	}
	return program
}
