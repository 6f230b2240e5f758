package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

// tests is one run of go test.
type tests struct {
	packages, flags, env []string
}

// run runs the tests. It uses no race detector: races do not depend on the server. A failed test is run once more,
// alone; HOLDFAST_RERUNS=0 turns that off.
func (t tests) run() (tally.Tally, error) {
	dir, err := os.MkdirTemp("", "servers")
	if err != nil {
		return tally.Tally{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	events, reruns := filepath.Join(dir, "events.json"), os.Getenv("HOLDFAST_RERUNS")
	if reruns == "" {
		reruns = "1"
	}
	// gotestsum is built outside of the environment of the tests, which may be for another version of Go.
	program := filepath.Join(dir, "gotestsum")
	outside := []string{"GOBIN=" + dir, "GOWORK=off"}
	if _, err := output(outside, "go", "install", "gotest.tools/gotestsum@v1.13.0"); err != nil {
		return tally.Tally{}, err
	}
	args := []string{"--format", "standard-quiet", "--format-hide-empty-pkg", "--jsonfile", events,
		"--rerun-fails=" + reruns, "--rerun-fails-max-failures=10", "--packages", strings.Join(t.packages, " "), "--"}
	// Without -count=1 go would answer with what it remembers of another server.
	cmd := exec.Command(program, slices.Concat(args, []string{"-count=1"}, t.flags)...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	ran := cmd.Run()
	counted, err := tally.OfFiles([]string{events})
	if err := errors.Join(ran, err); err != nil {
		return counted, err
	}
	if counted.Passed == 0 {
		return counted, errors.New("no test was run")
	}
	return counted, nil
}

// output runs a command, and returns what it printed. Its error has what it said.
func output(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", name, args[0], err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// suite returns the packages of a part of the tests.
func suite(part string) ([]string, error) {
	said, err := output(nil, "go", "run", "./scripts/suite", "packages", part)
	return strings.Fields(said), err
}

// unrelated are files whose changes change no test: this program, its table, and checksums that go adds.
var unrelated = []string{".", ":!scripts", ":!docs", ":!*.md", ":!Makefile", ":!.github", ":!go.work.sum"}

// commit is the last one that changed what the tests run, with a + if something was changed since.
func commit() (string, error) {
	hash, err := output(nil, "git", append([]string{"log", "-1", "--format=%h", "--"}, unrelated...)...)
	if err != nil {
		return "", err
	}
	changed, err := output(nil, "git", append([]string{"status", "--porcelain", "--"}, unrelated...)...)
	if err != nil {
		return "", err
	}
	hash = strings.TrimSpace(hash)
	if changed != "" {
		hash += "+"
	}
	return hash, nil
}
