package redistest

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

//go:embed testdata/clock.c
var clockSource []byte

// Clock is the wall clock of one server, which a test sets.
type Clock struct {
	t      testing.TB
	server *Server
	file   string // from which the library in the server reads how far it is ahead
}

// StartWithClock starts a server whose wall clock can be set. That takes Linux and a C compiler, which is there
// wherever tests run with the race detector, so that its lack is a failure in continuous integration and a reason to
// skip elsewhere.
func StartWithClock(t testing.TB, opts ...Option) (*Server, *Clock) {
	t.Helper()
	path := clockProgram(t)
	dir := t.TempDir()
	clock := &Clock{t: t, file: filepath.Join(dir, "clock")}
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	wrapper := filepath.Join(dir, "server")
	script := fmt.Sprintf("#!/bin/sh\nHOLDFAST_CLOCK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n",
		clock.file, library, path)
	err := errors.Join(
		os.WriteFile(clock.file, make([]byte, 8), 0o600), os.WriteFile(source, clockSource, 0o600),
		os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // it is a program
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	if out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("redistest: %v\n%s", err, out)
	}
	clock.server = Start(t, append(opts, func(c *config) { c.program = wrapper })...)
	clock.Ahead(time.Hour)
	clock.Ahead(0)
	return clock.server, clock
}

// clockProgram finds the server's program.
func clockProgram(t testing.TB) string {
	t.Helper()
	if missing := ClockMissing(); missing != "" {
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
			t.Fatal(missing)
		}
		t.Skip("not run: " + missing)
	}
	path, err := program()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return path
}

// ClockMissing says in a sentence why [StartWithClock] cannot set a server's clock on this machine; "" if it can.
func ClockMissing() string {
	const cannot = "the server's clock cannot be set: "
	if runtime.GOOS != "linux" {
		return cannot + "it can on Linux alone"
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return cannot + "there is no C compiler; install gcc"
	}
	if _, err := program(); err != nil {
		return cannot + err.Error()
	}
	return ""
}

// Ahead sets how far the server's clock is ahead of the machine's, and waits until the server's time says so: a server
// may go on by the monotonic clock from the time that it read last, for some milliseconds.
func (c *Clock) Ahead(d time.Duration) {
	c.t.Helper()
	file, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds())), 0)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		ahead := time.Until(c.Now())
		if (ahead - d).Abs() < time.Second {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("redistest: the server's clock does not obey: it is ahead by %v instead of %v", ahead, d)
		}
	}
}

// Now is the server's time. The server reads its clock once per iteration of its loop: the answer to the second
// command reflects the setting.
func (c *Clock) Now() time.Time {
	c.t.Helper()
	rdb := c.server.Client(c.t)
	err := rdb.Ping(context.Background()).Err()
	now, timeErr := rdb.Time(context.Background()).Result()
	if err := errors.Join(err, timeErr); err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
	return now
}
