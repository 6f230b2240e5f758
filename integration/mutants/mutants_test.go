package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// root is the module's directory, as seen from this package's.
const root = "../.."

// The limits of tests that hang, as a mutant that deadlocks makes them. The tests chosen for a mutant take a
// second or two on an idle machine; all of a package's together take longer, and a history as long as its
// configuration says.
const (
	patience     = 2 * time.Minute
	longPatience = 6 * time.Minute
)

// Linking keeps one processor busy, and the tests of a mutant mostly wait.
func TestMain(m *testing.M) {
	redistest.InParallel(4)
	os.Exit(m.Run())
}

// Every mutant is built, and caught by the tests that are named for it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range due() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			limit := patience
			if m.args != nil {
				limit = longPatience
			}
			program := m.build(t)
			code, output := runTests(t, limit, program, m.in, m.by, m.args)
			require.Equal(t, 1, code, "the tests did not fail:\n%s", output)
			// A crash or a timeout would show that something is wrong, but not that a test checks it.
			require.Contains(t, output, "--- FAIL: Test", "no test has failed:\n%s", output)
			require.Regexp(t, m.says, output, "it failed, but not for what is wrong:\n%s", output)
		})
	}
}

// due are the mutants of today: each one's turn is every tenth day, since all of them take twenty minutes. With
// HOLDFAST_MUTANTS=all they are all.
func due() (today []mutant) {
	for i, m := range table {
		if os.Getenv("HOLDFAST_MUTANTS") == "all" || (i+time.Now().YearDay())%10 == 0 {
			today = append(today, m)
		}
	}
	return today
}

// The same tests pass without a mutation, so what fails above fails because of the mutant.
func TestUnmutatedPasses(t *testing.T) {
	t.Parallel()
	type tests struct{ in, args string }
	patterns, programs := make(map[tests][]string), make(map[string]string)
	for _, m := range due() {
		of := tests{m.in, strings.Join(m.args, "\n")}
		patterns[of] = append(patterns[of], m.by)
	}
	for of, by := range patterns {
		if programs[of.in] == "" {
			programs[of.in] = compile(t, of.in, "")
		}
		code, output := runTests(t, longPatience, programs[of.in], of.in,
			strings.Join(by, "|"), strings.Split(of.args, "\n"))
		require.Zero(t, code, output)
		require.NotContains(t, output, "no tests to run")
	}
}

// Refactorings must keep the table up to date: the text that a mutant replaces is in its file, once.
func TestTableIsUpToDate(t *testing.T) {
	names := make(map[string]bool)
	for _, m := range table {
		require.False(t, names[m.name], "two are called %q", m.name)
		names[m.name] = true
		m.mutate(t)
	}
	require.GreaterOrEqual(t, len(table), 10)
}

// mutate returns the file that is mutated, and what it becomes.
func (m mutant) mutate(t *testing.T) (file string, mutated []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.file))
	require.NoError(t, err)
	found := 0
	for _, f := range files {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		if n := bytes.Count(source, []byte(m.old)); n > 0 {
			found += n
			file, mutated = f, bytes.Replace(source, []byte(m.old), []byte(m.new), 1)
		}
	}
	require.Equal(t, 1, found, "%q: %s should contain once: %s", m.name, m.file, m.old)
	return file, mutated
}

// build compiles the tests of the mutant. A mutant that does not compile was not caught.
func (m mutant) build(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	file, text := m.mutate(t)
	mutated := filepath.Join(dir, "mutated")
	require.NoError(t, os.WriteFile(mutated, text, 0o600))
	original, err := filepath.Abs(file)
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	require.NoError(t, err)
	replacing := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(replacing, overlay, 0o600))
	return compile(t, m.in, replacing)
}

// compile compiles the tests of a package, with an overlay unless that is "".
func compile(t *testing.T, in, overlay string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "mutant.test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, "./"+in)...)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

// runTests runs tests of a package by its compiled program, with further arguments.
func runTests(
	t *testing.T, limit time.Duration, program, in, by string, further []string,
) (code int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := []string{"-test.run", by, "-test.failfast", "-test.v", "-test.parallel=4"}
	cmd := exec.CommandContext(ctx, program, append(args, further...)...)
	cmd.Dir = filepath.Join(root, in)
	text, err := cmd.CombinedOutput()
	require.NoError(t, ctx.Err(), "the tests did not end: %s", text)
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}
