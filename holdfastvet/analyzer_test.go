package holdfastvet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/holdfast-go/holdfast/holdfastvet"
)

// command runs one in a folder and returns its output and whether it succeeded.
func command(t *testing.T, dir, name string, args ...string) (out string, succeeded bool) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if dir == "testdata" { // an application's module
		cmd.Env = append(cmd.Env, "GOWORK=off")
	}
	text, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil {
		require.ErrorAs(t, err, &exit, "%s", text)
	}
	return string(text), err == nil
}

var prepared sync.Once

// prepare has the modules of the test data there, since analysistest forbids to fetch any.
func prepare(t *testing.T) (testdata string) {
	t.Helper()
	prepared.Do(func() {
		out, ok := command(t, "testdata", "go", "test", "-run", "^$", "./...")
		require.True(t, ok, out)
	})
	return analysistest.TestData()
}

// A limit of one handle says nothing about another one, and MaxHold nothing about code that unlocks on one way only
// (defect G37).
func TestEachMisuseIsFound(t *testing.T) {
	analysistest.Run(t, prepare(t), holdfastvet.Analyzer, "./bad", "./limited", "./bounded", "./leases",
		"./nonreentrant")
}

// Of one mistake in each of 33 functions or more the analyzer finds all but five, and finds each where it is marked
// (defects F14 and G37).
func TestThePlainMistakesAreFound(t *testing.T) {
	analysistest.Run(t, prepare(t), holdfastvet.Analyzer, "./seeds")
	found, unfound := seeds(t, "unlock.go", "errors.go", "contexts.go", "turns.go"), seeds(t, "unfound.go")
	for name, marked := range found {
		require.True(t, marked, "%s has no mark", name)
	}
	for name, marked := range unfound {
		require.False(t, marked, "%s is found: it stands in the wrong file", name)
	}
	require.GreaterOrEqual(t, len(found)+len(unfound), 33)
	require.LessOrEqual(t, len(unfound), 5)
}

// seeds are the functions of some files of seeds that take a lock, and whether a mark stands in each.
func seeds(t *testing.T, files ...string) map[string]bool {
	t.Helper()
	marked := make(map[string]bool)
	function := regexp.MustCompile(`(?ms)^func (\w+)\((?:ctx|lock) .*?^}.*?$`)
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("testdata", "seeds", name))
		require.NoError(t, err)
		for _, fn := range function.FindAllStringSubmatch(string(text), -1) {
			marked[fn[1]] = strings.Contains(fn[0], "// want")
		}
	}
	return marked
}

// Correct code is left alone: requests that carry the hold's context, unlocks that are handed on, goroutines that are
// waited for, locks that a loop gathers, downgrades (defects F14 and G37).
func TestCorrectIdiomsAreLeftAlone(t *testing.T) {
	analysistest.Run(t, prepare(t), holdfastvet.Analyzer, "./good")
}

func TestTestsAreLookedAtIfAskedFor(t *testing.T) {
	set := func(value string) { require.NoError(t, holdfastvet.Analyzer.Flags.Set("tests", value)) }
	set("true")
	defer set("false")
	analysistest.Run(t, prepare(t), holdfastvet.Analyzer, "./strict")
}

// build makes the command.
func build(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "holdfastvet")
	out, ok := command(t, ".", "go", "build", "-o", path, "./cmd/holdfastvet")
	require.True(t, ok, out)
	return path
}

// The command works as a tool of go vet, with its flag, and by itself.
func TestTheCommandWorksForGoVet(t *testing.T) {
	prepare(t)
	tool := build(t)
	out, ok := command(t, "testdata", "go", "vet", "-vettool="+tool, "./bad")
	require.False(t, ok)
	for _, finding := range []string{
		"bad/errors.go:11:", "is thrown away: what follows may run without the lock",
		"the error of unlock is dropped", "is no named result", "is older than the hold of this Do",
		"is older than the hold: use held", "shadows it", "is not looked at before this",
	} {
		require.Contains(t, out, finding)
	}
	out, ok = command(t, "testdata", "go", "vet", "-vettool="+tool, "./good", "./strict")
	require.True(t, ok, out)
	out, ok = command(t, "testdata", "go", "vet", "-vettool="+tool, "-holdfast.tests", "./strict")
	require.False(t, ok)
	require.Contains(t, out, "strict_test.go")
	out, ok = command(t, "testdata", tool, "./bad")
	require.False(t, ok)
	require.Contains(t, out, "is older than the hold")
}
