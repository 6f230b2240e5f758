package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// ReplicatedClusterLab is a Redis Cluster in which every primary has one replica.
type ReplicatedClusterLab struct {
	*ClusterLab
	replicas []*Server
	ids      []string
}

// ReplicatedCluster starts a cluster with that many primaries and as many replicas, and waits until every
// replica has caught up and all nodes know one another. A dead primary is replaced by its replica when the
// others have missed it for the node timeout, which is 5 s by default, or at once by
// [ReplicatedClusterLab.Promote].
func ReplicatedCluster(t testing.TB, primaries int, opts ...Option) *ReplicatedClusterLab {
	t.Helper()
	l := &ReplicatedClusterLab{ClusterLab: Cluster(t, primaries, opts...)}
	for i := range primaries {
		l.add(t, i, opts)
	}
	Eventually(t, clusterLimit, func() bool { return l.complete(t) },
		"the replicas did not become part of the cluster")
	return l
}

// add starts the replica of node i.
func (l *ReplicatedClusterLab) add(t testing.TB, i int, opts []Option) {
	t.Helper()
	c := config{bus: true, args: []string{
		"--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-allow-replica-migration", "no",
	}}
	if major, _ := l.Node(0).Version(); major < 7 {
		c.args = c.args[:4] // there every primary keeps its replica while it has slots
	}
	for _, opt := range opts {
		opt(&c)
	}
	replica := startFor(t, c)
	l.replicas = append(l.replicas, replica)
	l.ids = append(l.ids, ask(t, replica, func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.Do(ctx, "cluster", "myid").Text()
	}))
	for _, other := range l.Servers() {
		if other == replica {
			continue
		}
		ask(t, replica, func(ctx context.Context, rdb *redis.Client) (string, error) {
			return rdb.ClusterMeet(ctx, other.Host(), portOf(other)).Result()
		})
	}
	Eventually(t, clusterLimit, func() bool {
		return ask(t, replica, func(ctx context.Context, rdb *redis.Client) (bool, error) {
			return rdb.ClusterReplicate(ctx, l.ClusterLab.ids[i]).Err() == nil, nil
		})
	}, "the node did not become a replica")
}

// complete reports whether every node knows the role of every other one, and the replicas are up to date.
func (l *ReplicatedClusterLab) complete(t testing.TB) bool {
	t.Helper()
	for _, replica := range l.replicas {
		if replica.Info(t, "replication")["master_link_status"] != "up" {
			return false
		}
	}
	for _, node := range l.Servers() {
		known := l.known(t, node)
		if strings.Count(known, " connected") != 2*l.Len() || strings.Contains(known, "handshake") ||
			strings.Count(known, "slave") != len(l.replicas) {
			return false
		}
	}
	return true
}

func (l *ReplicatedClusterLab) known(t testing.TB, node *Server) string {
	t.Helper()
	return ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.ClusterNodes(ctx).Result()
	})
}

// Replica returns the replica that node i had from the beginning.
func (l *ReplicatedClusterLab) Replica(i int) *Server { return l.replicas[i] }

// Servers returns all nodes, the first primaries first.
func (l *ReplicatedClusterLab) Servers() []*Server {
	return append(append([]*Server(nil), l.nodes...), l.replicas...)
}

// Client returns a client that knows all nodes and is closed when the test ends.
func (l *ReplicatedClusterLab) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	var addrs []string
	for _, node := range l.Servers() {
		addrs = append(addrs, node.Addr())
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Promote makes the replica of node i take over its slots, whether node i is up or not, and waits until
// all nodes that are up know it. If node i is up, or is restarted, it becomes the replica's replica.
func (l *ReplicatedClusterLab) Promote(t testing.TB, i int) {
	t.Helper()
	l.takeOver(t, l.replicas[i], l.ids[i])
}

// Demote gives the slots of node i back to it.
func (l *ReplicatedClusterLab) Demote(t testing.TB, i int) {
	t.Helper()
	Eventually(t, clusterLimit, func() bool {
		return l.nodes[i].Info(t, "replication")["master_link_status"] == "up"
	}, "the node did not catch up with its replica")
	l.takeOver(t, l.nodes[i], l.ClusterLab.ids[i])
}

func (l *ReplicatedClusterLab) takeOver(t testing.TB, node *Server, id string) {
	t.Helper()
	ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.Do(ctx, "cluster", "failover", "takeover").Text()
	})
	Eventually(t, clusterLimit, func() bool {
		for _, other := range l.Servers() {
			if other.process.Alive() && !l.serves(t, other, id) {
				return false
			}
		}
		return true
	}, "not every node heard of the failover")
}

// serves reports whether a node regards the node with that id as a primary with slots.
func (l *ReplicatedClusterLab) serves(t testing.TB, node *Server, id string) bool {
	t.Helper()
	for line := range strings.Lines(l.known(t, node)) {
		var who, addr, flags string
		if n, _ := fmt.Sscan(line, &who, &addr, &flags); n == 3 && who == id {
			return strings.Contains(flags, "master") && len(strings.Fields(line)) > 8
		}
	}
	return false
}

// Agrees reports whether every node sees every other one connected and all slots served.
func (l *ReplicatedClusterLab) Agrees(t testing.TB) bool {
	t.Helper()
	for _, node := range l.Servers() {
		info := parseInfo(ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
			return rdb.ClusterInfo(ctx).Result()
		}))
		known := l.known(t, node)
		if info["cluster_state"] != "ok" || strings.Count(known, " connected") != 2*l.Len() ||
			strings.Contains(known, "fail") {
			return false
		}
	}
	return true
}
