package topologies

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

const startEnv = "HOLDFAST_TEST_TOPOLOGY"

// If no server is available every topology says which program to install, instead of passing or being skipped.
func TestAStartThatFailsSaysWhatIsMissing(t *testing.T) {
	if name := os.Getenv(startEnv); name != "" {
		for _, top := range topologies {
			if top.name == name {
				top.start(t) // which ends the test
			}
		}
		return
	}
	for _, top := range topologies {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestAStartThatFailsSaysWhatIsMissing$")
			cmd.Env = append(cmd.Environ(), startEnv+"="+top.name, "PATH="+t.TempDir(),
				"HOLDFAST_REDIS_SERVER=")
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "%s", out)
			require.Contains(t, string(out), "install redis-server or valkey-server")
		})
	}
}
