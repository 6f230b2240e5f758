package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// The program is run as it is, with a server of its own and on a real one.
func TestNightly(t *testing.T) {
	program := filepath.Join(t.TempDir(), "nightly")
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
			require.Contains(t, string(out), "machine D closes the books\nand dies")
			require.Contains(t, string(out), "a machine whose clock is late finds it done")
			require.Contains(t, string(out), "the books were closed once")
			require.Equal(t, 1, strings.Count(string(out), "has closed the books"))
			require.Equal(t, 3, strings.Count(string(out), "finds it done"))
		})
	}
}
