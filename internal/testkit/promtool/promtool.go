// Package promtool runs Prometheus's own programs for tests, and installs them where they are missing.
package promtool

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Find returns where a program is: promtool, or prometheus. A test whose program can be neither found nor installed
// fails, and says what to do.
func Find(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	_, failed := servers.RunScript("setup-prometheus.sh")
	if path, err = exec.LookPath(name); err != nil {
		t.Fatalf("this test needs %s: %v", name, failed)
	}
	return path
}

// Run runs promtool in a folder. The test fails if promtool does, with what it says.
func Run(t testing.TB, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Find(t, "promtool"), args...)
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}
