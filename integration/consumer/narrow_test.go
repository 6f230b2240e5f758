package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The quickstart runs on a 32-bit system, with no server but an installed one, and says what it needs where there is none
// (defect G67): there the server inside it keeps numbers in 32 bits, and the time has more.
func TestTheQuickstartRunsOn32Bits(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "386" {
		t.Skip("not run: programs for linux/386 do not run on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	program := filepath.Join(t.TempDir(), "quickstart")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", program, "./examples/quickstart")
	build.Dir, build.Env = root, append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))

	run := exec.CommandContext(t.Context(), program)
	run.Env = append(os.Environ(), "REDIS_URL=")
	said, err = run.CombinedOutput()
	require.NoError(t, err, string(said))
	assert.Contains(t, string(said), "-server that is installed")
	assert.Contains(t, string(said), "Everything was as it should be")

	without := exec.CommandContext(t.Context(), program)
	without.Env = append(os.Environ(), "REDIS_URL=", "PATH="+t.TempDir())
	said, err = without.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(said), "install redis-server or valkey-server, or set REDIS_URL")
}
