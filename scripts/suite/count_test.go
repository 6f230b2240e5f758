package main

import (
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
	err := count(files, &out)
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
	assert.Equal(t, "1 of them failed at first and passed when they were run again, alone\n1 passed, 0 failed\n", said)
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
