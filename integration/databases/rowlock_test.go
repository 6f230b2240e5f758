package databases

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example beside that of package fence: what the database does by itself.
func TestRowLockExample(t *testing.T) {
	t.Parallel()
	_, url := postgres(t)
	run := exec.CommandContext(t.Context(), "go", "run", "./rowlock")
	run.Dir = root + "/examples/fencing"
	run.Env = append(run.Environ(), "DATABASE_URL="+url)
	said, err := run.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "second: another transaction has the row")
	require.Contains(t, string(said), "The balance is 20: nothing was lost. Everything was as it should be")
}
