package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	slots        = 16384
	clusterLimit = 60 * time.Second
)

// ClusterLab is a Redis Cluster of primaries that belongs to a test.
type ClusterLab struct {
	nodes []*Server
	ids   []string
}

// Cluster starts a cluster with the given number of primaries, which share the slots evenly in
// ascending order, and waits until all of them agree that it works. There are no replicas, hence
// no failover.
func Cluster(t testing.TB, primaries int, opts ...Option) *ClusterLab {
	t.Helper()
	lab := &ClusterLab{}
	for range primaries {
		c := config{bus: true, args: []string{
			"--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
		}}
		for _, opt := range opts {
			opt(&c)
		}
		node := startFor(t, c)
		lab.nodes = append(lab.nodes, node)
		lab.ids = append(lab.ids, ask(t, node,
			func(ctx context.Context, rdb *redis.Client) (string, error) {
				return rdb.Do(ctx, "cluster", "myid").Text()
			}))
	}
	lab.join(t)
	Eventually(t, clusterLimit, func() bool { return lab.agrees(t) },
		"the nodes did not form a cluster")
	return lab
}

func (l *ClusterLab) join(t testing.TB) {
	t.Helper()
	for i, node := range l.nodes {
		first, last := l.share(i)
		ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
			// Nodes with equal epochs settle that later by raising some. Set them apart now,
			// before the nodes meet.
			if err := rdb.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
				return "", err
			}
			if major, _ := node.Version(); major >= 7 {
				return rdb.Do(ctx, "cluster", "addslotsrange", first, last).Text()
			}
			return rdb.ClusterAddSlotsRange(ctx, first, last).Result()
		})
		// Every node meets every other one: leaving it to gossip takes seconds.
		for _, other := range l.nodes[:i] {
			ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
				return rdb.ClusterMeet(ctx, other.Host(), portOf(other)).Result()
			})
		}
	}
}

// share returns the slots that node i gets.
func (l *ClusterLab) share(i int) (first, last int) {
	return i * slots / len(l.nodes), (i+1)*slots/len(l.nodes) - 1
}

// agrees reports whether every node sees all nodes connected and all slots served.
func (l *ClusterLab) agrees(t testing.TB) bool {
	t.Helper()
	for _, node := range l.nodes {
		text := ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
			return rdb.ClusterInfo(ctx).Result()
		})
		info := parseInfo(text)
		if info["cluster_state"] != "ok" || info["cluster_slots_assigned"] != fmt.Sprint(slots) {
			return false
		}
		known := ask(t, node, func(ctx context.Context, rdb *redis.Client) (string, error) {
			return rdb.ClusterNodes(ctx).Result()
		})
		if strings.Count(known, " connected") != len(l.nodes) ||
			strings.Contains(known, "handshake") {
			return false
		}
	}
	return true
}

// Addrs returns the addresses of all nodes.
func (l *ClusterLab) Addrs() []string {
	addrs := make([]string, len(l.nodes))
	for i, node := range l.nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// Client returns a client of the cluster that is closed when the test ends.
func (l *ClusterLab) Client(t testing.TB) *redis.ClusterClient {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: l.Addrs()})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Node returns the node with the given number; node 0 starts with the lowest slots.
func (l *ClusterLab) Node(i int) *Server { return l.nodes[i] }

// Len returns the number of nodes.
func (l *ClusterLab) Len() int { return len(l.nodes) }

// NodeFor returns the number of the node that serves a slot, as the nodes themselves see it.
func (l *ClusterLab) NodeFor(t testing.TB, slot int) int {
	t.Helper()
	ranges := ask(t, l.nodes[0], func(ctx context.Context, rdb *redis.Client) (
		[]redis.ClusterSlot, error,
	) {
		//lint:ignore SA1019 CLUSTER SHARDS is not there before Redis 7
		return rdb.ClusterSlots(ctx).Result()
	})
	for _, r := range ranges {
		if slot < r.Start || slot > r.End {
			continue
		}
		for i, id := range l.ids {
			if len(r.Nodes) > 0 && r.Nodes[0].ID == id {
				return i
			}
		}
	}
	t.Fatalf("redistest: no node serves slot %d", slot)
	return -1
}

// Slot returns the slot of a key.
func (l *ClusterLab) Slot(t testing.TB, key string) int {
	t.Helper()
	return ask(t, l.nodes[0], func(ctx context.Context, rdb *redis.Client) (int, error) {
		slot, err := rdb.ClusterKeySlot(ctx, key).Result()
		return int(slot), err
	})
}
