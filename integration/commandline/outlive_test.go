package commandline

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A hundred of a hundred commands die before their lock is somebody else's. The test is that of cmd/holdfast, which by
// itself takes a few: the processes that it starts are its own program. It asserts an order of events, so it also passes
// with -race and beside busy loops.
func TestAHundredCommandsDoNotOutliveTheirHolds(t *testing.T) {
	t.Parallel()
	run := exec.Command("go", "test", "-count=1", "-v", "-ldflags=-w", "-run", "^"+outlives+"$", ".")
	run.Dir = "../../cmd/holdfast"
	run.Env = append(os.Environ(), "HOLDFAST_COMMANDS=100")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+outlives)
}

const outlives = "TestTheCommandNeverOutlivesTheHold"
