package monitoring

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

// buildOffice builds the program of deploy/compose.yaml that sells under locks of all kinds.
func buildOffice(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "boxoffice")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./examples/boxoffice")
	build.Dir = root
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return path
}

// openOffice runs a box office until the test ends, which fails if a seat was sold twice. It returns where its metrics
// are.
func openOffice(t *testing.T, path, redis string) (addr string) {
	t.Helper()
	office := exec.Command(path, "-for", "0", "-metrics", "127.0.0.1:0")
	office.Env = append(os.Environ(), "REDIS_URL=redis://"+redis)
	var complaints strings.Builder
	office.Stderr = &complaints
	says, err := office.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, office.Start())
	lines := bufio.NewScanner(says)
	t.Cleanup(func() {
		assert.NoError(t, office.Process.Signal(os.Interrupt))
		stuck := time.AfterFunc(time.Minute, func() { _ = office.Process.Kill() })
		defer stuck.Stop()
		last := ""
		for lines.Scan() {
			last = lines.Text()
		}
		assert.NoError(t, office.Wait(), complaints.String())
		assert.Contains(t, last, "none of them twice")
	})
	require.True(t, lines.Scan(), "the box office says nothing")
	addr, ok := strings.CutPrefix(lines.Text(), "metrics are at http://")
	require.True(t, ok, lines.Text())
	return strings.TrimSuffix(addr, "/metrics")
}

// obstruct holds the lock of the cleaners for the rest of the test, in another client than theirs.
func obstruct(t *testing.T, addr string) {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	_, unlock, err := rlock.New(client, "hall:1:clean").Lock(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, unlock())
		assert.NoError(t, client.Close())
		assert.NoError(t, rdb.Close())
	})
}

// cutRenewals cuts the connection before so many renewals. Their holds outlive it, since the next attempt comes before
// the lease ends.
func cutRenewals(t *testing.T, proxy *faultproxy.Proxy, n int) {
	t.Helper()
	proxy.On(faultproxy.Script(luacall.SHA("renew")), faultproxy.CutBefore).Times(n).Wait(t, n)
}
