package redisson_test

import (
	"os"
	"testing"

	"github.com/holdfast-go/holdfast/integration/redisson/program"
	"github.com/holdfast-go/holdfast/internal/testkit/jdk"
)

// classPath builds the Java programs, if this run has not yet, and returns java's class path.
func classPath(t *testing.T) string {
	t.Helper()
	if missing := jdk.Missing(); missing != "" {
		if os.Getenv("CI") != "" {
			t.Fatal("CI is set, but " + missing)
		}
		t.Skip("not run: " + missing)
	}
	path, err := program.ClassPath()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
