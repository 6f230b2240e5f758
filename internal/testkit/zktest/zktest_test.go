package zktest_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
)

func TestMain(m *testing.M) {
	servers.InParallel(2) // the members of an ensemble must not take one another for dead
	zktest.Main(m)
}

// packet is a message of ZooKeeper's protocol: the length, numbers, and buffers.
func packet(fields ...any) []byte {
	var b []byte
	for _, field := range fields {
		switch v := field.(type) {
		case int32:
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		case int64:
			b = binary.BigEndian.AppendUint64(b, uint64(v))
		case string:
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
		}
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// answer reads a message, and returns what follows its length.
func answer(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	size := make([]byte, 4)
	_, err := io.ReadFull(conn, size)
	require.NoError(t, err)
	body := make([]byte, binary.BigEndian.Uint32(size))
	_, err = io.ReadFull(conn, body)
	require.NoError(t, err)
	return body
}

// create makes a node that stays, and returns the time of the session that did, in milliseconds.
func create(t *testing.T, conn net.Conn, path string) (granted uint32) {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err := conn.Write(packet(int32(0), int64(0), int32(1_000_000), int64(0), strings.Repeat("\x00", 16)))
	require.NoError(t, err)
	granted = binary.BigEndian.Uint32(answer(t, conn)[4:])
	_, err = conn.Write(packet(int32(1), int32(1), path, "", int32(1), int32(31), "world", "anyone", int32(0)))
	require.NoError(t, err)
	require.Zero(t, binary.BigEndian.Uint32(answer(t, conn)[12:]), "the code of the error")
	return granted
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	return conn
}

// nodes counts all nodes of a server.
func nodes(t *testing.T, s *zktest.Server) int {
	t.Helper()
	n, err := s.Metric("zk_znode_count")
	require.NoError(t, err)
	return int(n)
}

func TestSharedServerAnswers(t *testing.T) {
	t.Parallel()
	server := zktest.Shared(t)
	said, err := server.Word("ruok")
	require.NoError(t, err)
	require.Equal(t, "imok", said)
	require.EqualValues(t, 120_000, create(t, dial(t, server.Addr()), "/"+servers.Key(t)), "what it grants at most")
	require.Contains(t, server.Log(t), "tickTime")
	require.Same(t, server, zktest.Shared(t))
	require.Panics(t, server.Freeze, "nobody disturbs it")
}

func TestServerIsFrozenKilledAndRestarted(t *testing.T) {
	t.Parallel()
	version, err := zktest.Version()
	require.NoError(t, err)
	for _, version := range []string{zktest.Oldest, version} {
		server := zktest.Start(t, zktest.Options{Version: version})
		said, err := server.Word("srvr")
		require.NoError(t, err)
		require.Contains(t, said, "Zookeeper version: "+version)
		create(t, dial(t, server.Addr()), "/kept")
		kept := nodes(t, server)
		server.Freeze()
		_, err = server.Word("ruok")
		require.ErrorContains(t, err, "timeout", "the kernel still accepts connections")
		server.Resume()
		require.Equal(t, kept, nodes(t, server))
		server.Freeze() // a server that does not run is stopped, too
		server.Kill()
		_, err = net.Dial("tcp", server.Addr())
		require.Error(t, err)
		server.Restart()
		require.Equal(t, kept, nodes(t, server))
	}
}

func TestOptionsCount(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{
		Tick: 50 * time.Millisecond, Config: []string{"maxSessionTimeout=3000", "maxClientCnxns=1"},
		JVM: []string{"-Dznode.container.checkIntervalMs=700"},
	})
	require.EqualValues(t, 3000, create(t, dial(t, server.Addr()), "/a"))
	require.Contains(t, server.Log(t), "checkIntervalMs=700")
	_, err := server.Word("ruok")
	require.Error(t, err, "a second connection")
}

func TestSnapshotIsRestored(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	create(t, dial(t, server.Addr()), "/a")
	snapshot, then := server.Snapshot(t), nodes(t, server)
	create(t, dial(t, server.Addr()), "/b")
	require.Equal(t, then+1, nodes(t, server))
	server.Rewind(t, snapshot)
	require.Equal(t, then, nodes(t, server))
}

func TestClientsConnectWithTLS(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{TLS: true})
	create(t, tls.Client(dial(t, server.SecureAddr()), named(server.TLS())), "/a")
	unknown := named(server.TLS())
	unknown.Certificates = nil
	conn, err := (&tls.Dialer{Config: unknown}).DialContext(context.Background(), "tcp", server.SecureAddr())
	if err == nil { // with TLS 1.3 a client hears of it later
		_, err = conn.Read(make([]byte, 1))
		require.NoError(t, conn.Close())
	}
	require.Error(t, err, "a client without a certificate")
}

func named(config *tls.Config) *tls.Config {
	config.ServerName = "127.0.0.1"
	return config
}

func TestMemberIsCutOff(t *testing.T) {
	t.Parallel()
	ensemble := zktest.StartEnsemble(t, 3, zktest.Options{Tick: 200 * time.Millisecond})
	for i, apart := range []func(member int, on bool){ensemble.Cut, ensemble.Sever} {
		leader := ensemble.Leader(t)
		apart(leader, true)
		next := ensemble.Leader(t, leader)
		create(t, dial(t, ensemble.Paths[next].Addr()), "/"+strings.Repeat("a", i+1))
		want := nodes(t, ensemble.Members[next])
		apart(leader, false)
		old := ensemble.Members[leader]
		old.Serves(t)
		zktest.Eventually(t, func() bool {
			n, err := old.Metric("zk_znode_count")
			return err == nil && int(n) == want
		}, "the old leader learns what was written meanwhile")
	}
	ensemble.Slow(ensemble.Follower(t), 10*time.Millisecond)
	create(t, dial(t, ensemble.PathAddrs()[ensemble.Follower(t)]), "/slow")
}

func TestEnsembleIsRestored(t *testing.T) {
	t.Parallel()
	ensemble := zktest.StartEnsemble(t, 3, zktest.Options{Tick: 200 * time.Millisecond})
	create(t, dial(t, ensemble.Addrs()[0]), "/a")
	leader := ensemble.Members[ensemble.Leader(t)]
	snapshot, then := leader.Snapshot(t), nodes(t, leader)
	create(t, dial(t, leader.Addr()), "/b")
	ensemble.Rewind(t, snapshot)
	require.Equal(t, then, nodes(t, ensemble.Members[ensemble.Leader(t)]))
	member := ensemble.Members[ensemble.Follower(t)]
	member.Kill()
	member.Restart()
	require.Equal(t, then, nodes(t, member))
}

func TestServerLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var addr string
	t.Run("user", func(t *testing.T) {
		server := zktest.Start(t, zktest.Options{})
		addr = server.Addr()
		server.Freeze() // a frozen server has to go as well
	})
	_, err := net.Dial("tcp", addr)
	require.Error(t, err)
}

// The next sequential node has the number that a test says, whatever the server knew, and all else is as it was.
func TestCount(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t, zktest.Options{})
	create(t, dial(t, s.Addr()), "/a")
	before := nodes(t, s)
	for _, made := range []int32{2147483646, 41} {
		s.Count(t, "/a", made)
		require.Equal(t, before, nodes(t, s))
		conn := dial(t, s.Addr())
		create(t, conn, "/a"+strconv.Itoa(int(made)))
		const sequential = int32(2)
		_, err := conn.Write(packet(int32(2), int32(1), "/a/n", "", int32(1), int32(31), "world", "anyone", sequential))
		require.NoError(t, err)
		require.Contains(t, string(answer(t, conn)), fmt.Sprintf("/a/n%010d", made))
		before += 2
	}
}
