package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The program is run as it is, with a server of its own and on a real one.
func TestTransfer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "transfer")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, url := range map[string]string{
		"embedded": "", "redis": "redis://" + redistest.Shared(t).Addr(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = append(cmd.Environ(), urlEnv+"="+url)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "is killed with a transfer half done: the total is 399")
			require.Contains(t, string(out), "1 half transfer was found, and finished")
			require.Contains(t, string(out), "the total is 400\n")
			require.Contains(t, string(out), "no account is locked")
			require.NotContains(t, string(out), "NOT SO")
		})
	}
}
