package pgtest_test

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
)

const childVariable = "PGTEST_CHILD"

// TestChild is the program of the test below: it freezes a server, tells its folder and its processes, and waits for
// its own end.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	server := pgtest.Start(t)
	dir := server.Run(t, "SHOW unix_socket_directories")
	pids := server.Run(t, "SELECT pid FROM pg_stat_activity")
	server.Freeze()
	_, err := os.Stdout.WriteString("frozen " + dir + " " + strings.ReplaceAll(pids, "\n", " ") + "\n")
	require.NoError(t, err)
	select {}
}

func TestAFrozenServerDiesWithTheBinary(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("only a child process on Linux dies with its parent; nothing to check here")
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var said []string
	for lines := bufio.NewScanner(out); said == nil && lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 2 && fields[0] == "frozen" {
			said = fields[1:]
		}
	}
	require.NotEmpty(t, said)
	t.Cleanup(func() { _ = os.RemoveAll(said[0]) }) // nobody is left who would do it
	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	pgtest.Eventually(t, func() bool {
		for _, pid := range said[1:] {
			// Of one that has ended, and that nobody has reaped, it is empty.
			if args, _ := os.ReadFile("/proc/" + pid + "/cmdline"); len(args) > 0 {
				return false
			}
		}
		return true
	}, "no process outlives the binary")
}
