package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted returns the output for the events of some runs.
func counted(t *testing.T, runs ...string) (string, error) {
	t.Helper()
	var files []string
	for _, events := range runs {
		file := filepath.Join(t.TempDir(), "events")
		require.NoError(t, os.WriteFile(file, []byte(events), 0o600))
		files = append(files, file)
	}
	var out strings.Builder
	err := count(files, math.MaxInt, &out)
	return out.String(), err
}

func TestTestsAreCountedOverAllRuns(t *testing.T) {
	said, err := counted(t,
		`{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p"}
`, `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`)
	require.NoError(t, err)
	assert.Equal(t, "1 skipped\n3 passed, 0 failed\n", said)
}

func TestATestThatWasRunAgainCountsOnce(t *testing.T) {
	said, err := counted(t, `{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`)
	require.NoError(t, err)
	assert.Equal(t, "failed first, and passed when it was run again, alone: p TestA\n1 passed, 0 failed\n", said)
}

// defect F29: what passes only when it is repeated is named, a subtest instead of its test, and there is a limit to it
// over all runs together.
func TestWhatFailsFirstIsNamedAndLimited(t *testing.T) {
	again := func(pkg, test string) string {
		return fmt.Sprintf(`{"Action":"fail","Package":"%[1]s","Test":"%[2]s/one"}
{"Action":"fail","Package":"%[1]s","Test":"%[2]s"}
{"Action":"fail","Package":"%[1]s"}
{"Action":"pass","Package":"%[1]s","Test":"%[2]s/one"}
{"Action":"pass","Package":"%[1]s","Test":"%[2]s"}
{"Action":"pass","Package":"%[1]s"}
`, pkg, test)
	}
	fast, slow := filepath.Join(t.TempDir(), "fast"), filepath.Join(t.TempDir(), "slow")
	require.NoError(t, os.WriteFile(fast, []byte(again("q", "TestB")+again("p", "TestA")), 0o600))
	require.NoError(t, os.WriteFile(slow, []byte(again("p", "TestC")), 0o600))

	var out strings.Builder
	require.NoError(t, run([]string{"count", "-again", "2", fast}, &out))
	assert.Equal(t, `failed first, and passed when it was run again, alone: p TestA/one
failed first, and passed when it was run again, alone: q TestB/one
4 passed, 0 failed
`, out.String())
	require.NoError(t, run([]string{"count", fast, slow}, new(strings.Builder)))
	err := run([]string{"count", "-again", "2", fast, slow}, new(strings.Builder))
	require.EqualError(t, err, "3 failed first, and at most 2 may")
	require.Error(t, run([]string{"count", "-again", "many", fast}, new(strings.Builder)))
}

func TestAFailureIsCountedWhateverItIs(t *testing.T) {
	said, err := counted(t, `# p
p/a.go:1:1: syntax error
{"Action":"fail","Package":"p"}
{"Action":"fail","Package":"q","Test":"TestA"}
{"Action":"fail","Package":"q"}
`)
	require.Error(t, err)
	assert.Equal(t, "0 passed, 2 failed\n", said)
}

func TestNoTestsAreNoSuccess(t *testing.T) {
	_, err := counted(t, "")
	require.ErrorContains(t, err, "no test was run")
}
