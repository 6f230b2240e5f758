package redistest_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const childVariable = "REDISTEST_CHILD"

// TestChild is the program of the test below: it starts a server, tells where, and waits for
// its own end.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	server := redistest.Start(t)
	// Threads come and go in a real test, and must not take the server with them.
	for range 10 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		}()
		<-done
	}
	require.NoError(t, server.Client(t).Ping(t.Context()).Err())
	_, err := os.Stdout.WriteString("addr " + server.Addr() + " " + server.Dir() + "\n")
	require.NoError(t, err)
	select {}
}

func TestServerDiesWithTheBinary(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only a child process on Linux dies with its parent; nothing to check here")
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var addr, dir string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] == "addr" {
			addr, dir = fields[1], fields[2]
			break
		}
	}
	require.NotEmpty(t, addr)
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // nobody is left who would do it
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	require.NoError(t, child.Process.Kill())
	_ = child.Wait()
	redistest.Eventually(t, 5*time.Second, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, "the server outlived the binary that started it")
}

func TestNoServerAtAllFailsWithASentence(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = []string{
		childVariable + "=1", "PATH=" + t.TempDir(), "HOME=" + t.TempDir(),
		"DOCKER_HOST=unix:///nonexistent/docker.sock",
	}
	out, err := child.Output()
	require.Error(t, err)
	require.Contains(t, string(out), "install redis-server")
	require.Contains(t, string(out), "--- FAIL: TestChild")
}
