package consumer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The command builds for the systems whose calls differ most from those of Linux, macOS and Windows (defect G68).
func TestTheCommandBuildsForOtherSystems(t *testing.T) {
	for _, system := range []string{"illumos/amd64", "aix/ppc64", "plan9/amd64"} {
		name, processor, _ := strings.Cut(system, "/")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(t.TempDir(), "holdfast"), "./cmd/holdfast")
		build.Dir, build.Env = root, append(os.Environ(), "GOOS="+name, "GOARCH="+processor, "CGO_ENABLED=0")
		said, err := build.CombinedOutput()
		assert.NoError(t, err, "%s: %s", system, said)
	}
}
