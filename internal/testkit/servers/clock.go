package servers

import (
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

// Clock is the wall clock of one program, which a test sets. Its monotonic clock goes on as it is.
type Clock struct {
	file string // from which the library in the program reads how far it is ahead
}

// NewClock makes a clock in a folder, with a program there that runs another one by it.
func NewClock(dir, program string) (clock *Clock, wrapper string, err error) {
	clock, wrapper = &Clock{file: filepath.Join(dir, "clock")}, filepath.Join(dir, "clocked")
	source, library := filepath.Join(dir, "clock.c"), filepath.Join(dir, "clock.so")
	script := fmt.Sprintf("#!/bin/sh\nHOLDFAST_CLOCK='%s' LD_PRELOAD='%s' exec '%s' \"$@\"\n",
		clock.file, library, program)
	err = errors.Join(
		os.WriteFile(clock.file, make([]byte, 8), 0o600), os.WriteFile(source, clockSource, 0o600),
		os.WriteFile(wrapper, []byte(script), 0o700)) //nolint:gosec // it is a program
	if err != nil {
		return nil, "", err
	}
	if out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("%w\n%s", err, out)
	}
	return clock, wrapper, nil
}

// ClockMissing says in a sentence why [NewClock] can make none on this machine; "" if it can.
func ClockMissing() string {
	const cannot = "the server's clock cannot be set: "
	if runtime.GOOS != "linux" {
		return cannot + "it can on Linux alone"
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return cannot + "there is no C compiler; install gcc"
	}
	return ""
}

// NeedClock skips a test where [NewClock] can make none. Tests that run with the race detector have what it needs, so
// in continuous integration that is a failure.
func NeedClock(t testing.TB) {
	t.Helper()
	missing := ClockMissing()
	if missing != "" && os.Getenv("CI") != "" && runtime.GOOS == "linux" {
		t.Fatal(missing)
	}
	if missing != "" {
		t.Skip("not run: " + missing)
	}
}

// Ahead sets how far the clock is ahead of the machine's. The program may read it a moment later.
func (c *Clock) Ahead(d time.Duration) error {
	file, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d.Microseconds())), 0)
	return errors.Join(err, file.Close())
}
