package etcdtest_test

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

func TestSharedServerAnswers(t *testing.T) {
	t.Parallel()
	server := etcdtest.Shared(t)
	require.Equal(t, "OK", server.Ctl(t, "put", "kit/a", "1"))
	require.Equal(t, []string{"kit/a"}, server.Keys(t, "kit/"))
	require.Same(t, server, etcdtest.Shared(t))
	require.Panics(t, server.Freeze, "nobody disturbs it")
}

func TestServerIsFrozenKilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	server.Ctl(t, "put", "kept", "1")
	server.Freeze()
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err, "the kernel still accepts connections")
	require.NoError(t, conn.Close())
	server.Thaw()
	require.Equal(t, "kept\n1", server.Ctl(t, "get", "kept"))
	server.Freeze() // one that does not run goes as well
	server.Kill()
	_, err = net.Dial("tcp", server.Addr())
	require.Error(t, err)
	server.Restart()
	require.Equal(t, "kept\n1", server.Ctl(t, "get", "kept"))
}

func TestWatchesAreCounted(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	watches := func(want int) {
		etcdtest.Eventually(t, func() bool { n, err := server.Watches(); return err == nil && n == want }, "watches")
	}
	watches(0)
	watch := server.Background(t, "watch", "a")
	watches(1)
	require.NoError(t, watch.Kill())
	watches(0)
}

func TestSnapshotIsRestored(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	server.Ctl(t, "put", "a", "1")
	snapshot := server.Snapshot(t)
	server.Ctl(t, "put", "a", "2")
	require.Equal(t, "a\n1", etcdtest.Restore(t, snapshot).Ctl(t, "get", "a"))
	raised := etcdtest.Restore(t, snapshot, "--bump-revision=1000000", "--mark-compacted")
	require.Contains(t, raised.Ctl(t, "get", "a", "--write-out=json"), `"revision":10000`)
}

func TestMemberIsCutOff(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Fatal("only Linux tells which member a connection comes from")
	}
	cluster := etcdtest.StartCluster(t)
	cluster.Members[0].Ctl(t, "put", "a", "1")
	leader := cluster.Leader(t)
	cluster.Cut(leader, true)
	next := cluster.Leader(t, leader)
	cluster.Members[next].Ctl(t, "put", "a", "2")
	old := cluster.Members[leader]
	require.Equal(t, "a\n1", old.Ctl(t, "get", "a", "--consistency=s"), "it knows nothing of that")
	cluster.Cut(leader, false)
	require.Equal(t, "a\n2", old.Ctl(t, "get", "a"))
}

func TestServerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var addr string
	t.Run("user", func(t *testing.T) {
		server := etcdtest.Start(t)
		addr = server.Addr()
		held := server.Background(t, "lock", "a")
		etcdtest.Eventually(t, func() bool { return strings.Contains(held.Output(), "a/") }, "it has the lock")
		server.Freeze() // a frozen server has to go as well
	})
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
}

func TestTheDistributionsOwnIsStarted(t *testing.T) {
	t.Parallel()
	server, version := etcdtest.StartDistributions(t)
	require.NotEmpty(t, version)
	require.Contains(t, server.Ctl(t, "endpoint", "status"), version)
}
