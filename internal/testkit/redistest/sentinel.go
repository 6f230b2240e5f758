package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	primaryName   = "primary"
	sentinels     = 3
	quorum        = 2
	failoverLimit = 60 * time.Second
)

// SentinelLab is a primary with replicas, watched by three Sentinels, that belongs to a test.
type SentinelLab struct {
	servers   []*Server
	sentinels []*Server
}

// Sentinel starts a primary, a replica and three Sentinels, and waits until all know one
// another. Two Sentinels must agree, and they consider the primary dead after 500 ms. The
// options apply to the primary and the replica.
func Sentinel(t testing.TB, opts ...Option) *SentinelLab {
	t.Helper()
	return SentinelOver(t, 1, opts...)
}

// SentinelOver is Sentinel with that many replicas.
func SentinelOver(t testing.TB, replicas int, opts ...Option) *SentinelLab {
	t.Helper()
	primary := Start(t, opts...)
	lab := &SentinelLab{servers: []*Server{primary}}
	for range replicas {
		lab.servers = append(lab.servers, Replica(t, primary, opts...))
	}
	for range sentinels {
		lab.sentinels = append(lab.sentinels, startSentinel(t, primary))
	}
	Eventually(t, failoverLimit, func() bool { return lab.ready(t) },
		"the Sentinels did not find one another and the replicas")
	return lab
}

func startSentinel(t testing.TB, primary *Server) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "redistest-sentinel-")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// A Sentinel rewrites its file, hence one each.
	file := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf(`sentinel monitor %[1]s %[4]s %[2]d %[3]d
sentinel down-after-milliseconds %[1]s 500
sentinel failover-timeout %[1]s 3000
sentinel parallel-syncs %[1]s 1
`, primaryName, primary.Port(), quorum, primary.Host())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("redistest: %v", err)
	}
	return startFor(t, config{dir: dir, host: primary.Host(), head: []string{file, "--sentinel"}})
}

// ready reports whether every Sentinel sees the others and the replicas.
func (l *SentinelLab) ready(t testing.TB) bool {
	t.Helper()
	for _, sentinel := range l.sentinels {
		state := l.state(t, sentinel)
		if state["num-slaves"] != fmt.Sprint(len(l.servers)-1) ||
			state["num-other-sentinels"] != fmt.Sprint(sentinels-1) || state["flags"] != "master" {
			return false
		}
	}
	return true
}

func (l *SentinelLab) state(t testing.TB, sentinel *Server) map[string]string {
	t.Helper()
	return ask(t, sentinel, func(ctx context.Context, rdb *redis.Client) (map[string]string, error) {
		cmd := redis.NewMapStringStringCmd(ctx, "sentinel", "master", primaryName)
		_ = rdb.Process(ctx, cmd)
		return cmd.Result()
	})
}

// Options returns fresh options for a failover client.
func (l *SentinelLab) Options() *redis.FailoverOptions {
	opts := &redis.FailoverOptions{MasterName: primaryName}
	for _, sentinel := range l.sentinels {
		opts.SentinelAddrs = append(opts.SentinelAddrs, sentinel.Addr())
	}
	return opts
}

// Client returns a client that follows the primary and is closed when the test ends.
func (l *SentinelLab) Client(t testing.TB) *redis.Client {
	t.Helper()
	rdb := redis.NewFailoverClient(l.Options())
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Servers returns the data servers, whatever their present roles.
func (l *SentinelLab) Servers() []*Server { return append([]*Server(nil), l.servers...) }

// Sentinels returns the three Sentinels.
func (l *SentinelLab) Sentinels() []*Server { return append([]*Server(nil), l.sentinels...) }

// Primary returns the server that the first Sentinel considers the primary.
func (l *SentinelLab) Primary(t testing.TB) *Server {
	t.Helper()
	state := l.state(t, l.sentinels[0])
	addr := net.JoinHostPort(state["ip"], state["port"])
	for _, server := range l.servers {
		if server.Addr() == addr {
			return server
		}
	}
	t.Fatalf("redistest: the Sentinels' primary %s is unknown", addr)
	return nil
}

// Failover makes the Sentinels promote the replica, and returns the new primary once all of them
// know it and it accepts writes. The old primary becomes its replica some time later.
func (l *SentinelLab) Failover(t testing.TB) *Server {
	t.Helper()
	old := l.Primary(t)
	Eventually(t, failoverLimit, func() bool { return l.order(t) },
		"the Sentinel did not begin a failover")
	return l.WaitFailover(t, old)
}

// order asks a Sentinel for a failover. The Sentinel refuses while it has not seen a good
// replica.
func (l *SentinelLab) order(t testing.TB) bool {
	t.Helper()
	return ask(t, l.sentinels[0], func(ctx context.Context, rdb *redis.Client) (bool, error) {
		return rdb.Do(ctx, "sentinel", "failover", primaryName).Err() == nil, nil
	})
}

// WaitFailover waits until the primary is a server other than old, all Sentinels know it, and it
// accepts writes; it returns the new primary. Use it for failovers that a fault causes.
func (l *SentinelLab) WaitFailover(t testing.TB, old *Server) *Server {
	t.Helper()
	Eventually(t, failoverLimit, func() bool {
		for _, sentinel := range l.sentinels {
			if l.state(t, sentinel)["port"] == portOf(old) {
				return false
			}
		}
		return l.Primary(t).Info(t, "replication")["role"] == "master"
	}, "no failover took place")
	return l.Primary(t)
}

func portOf(s *Server) string { return strconv.Itoa(s.Port()) }
