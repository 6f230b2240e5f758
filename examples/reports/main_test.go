package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The program runs unchanged, on the server inside it and on a real one.
func TestReports(t *testing.T) {
	program := filepath.Join(t.TempDir(), "reports")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, url := range map[string]string{
		"embedded": "", "real": "redis://" + redistest.Shared(t).Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = append(cmd.Environ(), urlEnv+"="+url)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "Everything was as it should be")
			require.Contains(t, string(out), "turned away")
		})
	}
}
