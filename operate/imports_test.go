package operate_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that only locks does not link what looks after locks.
func TestLocksDoNotImportIt(t *testing.T) {
	t.Parallel()
	const module = "github.com/holdfast-go/holdfast/"
	for _, of := range []string{
		"rlock", "fairlock", "rwlock", "semaphore", "latch", "multilock", "redlock", "leader", "holdfasttest",
	} {
		out, err := exec.Command("go", "list", "-deps", module+of).Output()
		require.NoError(t, err)
		require.Contains(t, string(out), module+"lock\n")
		for dep := range strings.FieldsSeq(string(out)) {
			require.False(t, strings.HasPrefix(dep, module+"operate"), "%s imports %s", of, dep)
		}
	}
}
