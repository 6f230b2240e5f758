// Package fipsmode runs tests in a process in which only the algorithms of FIPS 140-3 are allowed, as
// GODEBUG=fips140=only has it: every use of another one panics, also in the initialisation of a package.
package fipsmode

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Run runs the tests of the present test binary that match a pattern once more, in a process of their own in that mode.
// It fails if one of them fails, or none passes.
func Run(t *testing.T, pattern string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", pattern)
	cmd.Env = append(os.Environ(), "GODEBUG=fips140=only")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: ") {
		t.Fatalf("in the mode fips140=only: %v\n%s", err, out)
	}
}
