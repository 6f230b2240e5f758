package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The test runs the program as its documentation says.
func TestRedlock(t *testing.T) {
	if _, err := program(); err != nil {
		if os.Getenv("HOLDFAST_REDIS_IMAGE") == "" {
			t.Fatal(err)
		}
		t.Skip("not run: the servers are in containers; set HOLDFAST_REDIS_SERVER")
	}
	path := filepath.Join(t.TempDir(), "redlock")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.CommandContext(t.Context(), path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "Everything was as it should be")
	require.NotContains(t, string(out), "NOT SO")
}
