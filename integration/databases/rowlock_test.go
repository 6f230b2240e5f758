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
		"rowlock": {
			"second: another transaction has the row",
			"The balance is 20: nothing was lost. Everything was as it should be",
		},
		"txlock": {
			"The first has the lock: <nil>", "The second takes it away: <nil>", "and withdraws 30: <nil>",
			"The first has not noticed: true",
			`and withdraws 1000: holdfast: lock "txlock:alice" lost: gone from the store`,
			"The balance is 70 <nil> and the first hears of its loss: true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), "go", "run", "./"+name)
			run.Dir = root + "/examples/fencing"
			run.Env = append(run.Environ(), "DATABASE_URL="+url)
			said, err := run.CombinedOutput()
			require.NoError(t, err, "%s", said)
			for _, text := range says {
				require.Contains(t, string(said), text)
			}
		})
	}
}
