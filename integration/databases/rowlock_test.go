package databases

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The examples beside that of package fence: what the database does by itself, and the same case with pglock.Tx.
func TestLockExamples(t *testing.T) {
	t.Parallel()
	_, url := postgres(t)
	for name, says := range map[string][]string{
		"rowlock": {"second: another transaction has the row"},
		"txlock": {
			`second: holdfast: lock "txlock:alice" is held by another`,
			"which the first one does not know: true",
			`first:  holdfast: lock "txlock:alice" lost: gone from the store`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), "go", "run", "./"+name)
			run.Dir = root + "/examples/fencing"
			run.Env = append(run.Environ(), "DATABASE_URL="+url)
			said, err := run.CombinedOutput()
			require.NoError(t, err, "%s", said)
			for _, text := range append(says, "The balance is 20: nothing was lost. Everything was as it should be") {
				require.Contains(t, string(said), text)
			}
		})
	}
}
