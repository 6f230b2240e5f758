package failover

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Kind is a topology and the way in which its primary is lost.
type Kind string

// The kinds.
const (
	ClusterKilled    Kind = "cluster, SIGKILL"
	ClusterStopped   Kind = "cluster, SIGSTOP"
	ClusterCommanded Kind = "cluster, CLUSTER FAILOVER"
	SentinelPlanned  Kind = "Sentinel, SENTINEL FAILOVER"
	SentinelKilled   Kind = "Sentinel, SIGKILL"
	SentinelStopped  Kind = "Sentinel, SIGSTOP"

	// The machine of the primary, and of the Sentinel that the clients ask, stops.
	SentinelTogether Kind = "Sentinel, SIGSTOP of the primary and a Sentinel"
	// Only Sentinels fail: the one that the clients ask hangs, or all die.
	SentinelHung Kind = "Sentinels only, SIGSTOP of one"
	SentinelsDie Kind = "Sentinels only, SIGKILL of all"
	// A client of each library is alone with the old primary, and all else is on the other side.
	SentinelSplit Kind = "Sentinel, half a split"
	// A planned failover with two replicas. Each client asks one of two Sentinels.
	SentinelOverTwo Kind = "Sentinel with two replicas, SENTINEL FAILOVER"
)

// Kinds are all kinds.
var Kinds = []Kind{
	ClusterKilled, ClusterStopped, ClusterCommanded, SentinelPlanned, SentinelKilled, SentinelStopped,
	SentinelTogether, SentinelHung, SentinelsDie, SentinelSplit, SentinelOverTwo,
}

const (
	patience    = 60 * time.Second // of a wait for what must happen
	nodeTimeout = "2000"           // ms after which a cluster considers a node down
	victim      = 1                // the primary of a cluster that is lost
)

// Site is a set of servers, one primary of which will be lost.
type Site struct {
	t        testing.TB
	kind     Kind
	cluster  *redistest.ReplicatedClusterLab // nil behind a Sentinel
	sentinel *redistest.SentinelLab
	split    *redistest.Split    // nil unless it is one
	old      *redistest.Server   // the primary
	next     []*redistest.Server // who may serve after that
	names    atomic.Int64
	clients  int // so far
}

// NewSite starts servers.
func NewSite(t testing.TB, kind Kind) *Site {
	t.Helper()
	s := &Site{t: t, kind: kind}
	switch kind {
	case ClusterKilled, ClusterStopped, ClusterCommanded:
		s.cluster = redistest.ReplicatedCluster(t, 3, redistest.WithArgs("--cluster-node-timeout", nodeTimeout))
		s.old, s.next = s.cluster.Node(victim), []*redistest.Server{s.cluster.Replica(victim)}
	case SentinelSplit:
		s.split = redistest.SplitSentinel(t)
		s.sentinel = s.split.SentinelLab
		s.old, s.next = s.sentinel.Servers()[0], s.sentinel.Servers()[1:]
	default:
		replicas := 1
		if kind == SentinelOverTwo {
			replicas = 2
		}
		s.sentinel = redistest.SentinelOver(t, replicas)
		servers := s.sentinel.Servers()
		s.old, s.next = servers[0], servers[1:]
		if kind == SentinelHung || kind == SentinelsDie {
			s.next = servers[:1]
		}
	}
	return s
}

// Client makes a client as an application would.
func (s *Site) Client() redis.UniversalClient {
	if s.cluster != nil {
		return s.cluster.Client(s.t)
	}
	o := s.sentinel.Options()
	if s.alone(s.clients) {
		s.split.Alone(o)
	}
	s.clients++
	switch s.kind {
	case SentinelTogether, SentinelHung:
		o.SentinelAddrs = o.SentinelAddrs[:1]
	case SentinelOverTwo:
		o.SentinelAddrs = o.SentinelAddrs[s.clients%2:][:1]
	}
	rdb := redis.NewFailoverClient(o)
	s.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Name returns a name that the primary to be lost serves.
func (s *Site) Name() string {
	for {
		name := fmt.Sprintf("failover:%d", s.names.Add(1))
		if s.cluster == nil || s.cluster.NodeFor(s.t, s.cluster.Slot(s.t, name)) == victim {
			return name
		}
	}
}

// replicated waits until the replicas have what was written so far. A primary that fails may lose what they lack, and a
// holder of that is told that its hold is gone, in any library.
func (s *Site) replicated() {
	replicas := 1
	if s.kind == SentinelOverTwo {
		replicas = 2
	}
	rdb := redis.NewClient(s.old.Options())
	defer func() { _ = rdb.Close() }()
	conn, last := rdb.Conn(), s.Name() // WAIT counts what its own connection wrote
	defer func() { _ = conn.Close() }()
	redistest.Eventually(s.t, patience, func() bool {
		if conn.Set(context.Background(), last, "", time.Second).Err() != nil {
			return false
		}
		n, err := conn.Wait(context.Background(), replicas, time.Second).Result()
		return err == nil && n >= int64(replicas)
	}, "the replicas do not have the holds")
}

// strike makes the primary fail.
func (s *Site) strike() {
	switch s.kind {
	case ClusterKilled, SentinelKilled:
		s.old.Kill()
	case ClusterStopped, SentinelStopped:
		s.old.Stop()
	case ClusterCommanded:
		s.order(s.next[0], "cluster", "failover")
	case SentinelPlanned, SentinelOverTwo:
		s.order(s.sentinel.Sentinels()[0], "sentinel", "failover", "primary")
	case SentinelTogether:
		s.old.Stop()
		s.sentinel.Sentinels()[0].Stop()
	case SentinelHung:
		s.sentinel.Sentinels()[0].Stop()
	case SentinelSplit:
		s.split.Cut()
	case SentinelsDie:
		for _, sentinel := range s.sentinel.Sentinels() {
			sentinel.Kill()
		}
	}
}

func (s *Site) order(server *redistest.Server, command ...any) {
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	redistest.Eventually(s.t, patience, func() bool { return rdb.Do(context.Background(), command...).Err() == nil },
		"the failover did not begin")
}

// serves waits until a server accepts writes, and returns that moment.
func (s *Site) serves(probe string) time.Time {
	var all []*redis.Client
	for _, server := range s.next {
		opts := server.Options()
		opts.MaxRetries = -1
		rdb := redis.NewClient(opts)
		defer func() { _ = rdb.Close() }()
		all = append(all, rdb)
	}
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		for _, rdb := range all {
			if rdb.Set(context.Background(), probe, "", time.Second).Err() == nil {
				return time.Now()
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("failover: no replica was promoted")
		}
	}
}

// deposed reports that the old primary goes on and still considers itself a primary.
func (s *Site) deposed() bool {
	return s.kind == SentinelPlanned || s.kind == SentinelOverTwo || s.kind == SentinelSplit
}

// alone reports whether a client will be alone with the old primary: the first of each library, which contends.
func (s *Site) alone(client int) bool { return s.split != nil && client%(crowded+quiet) == 0 }

// Alone is how many of a library's holds are those of such a client.
func (s *Site) Alone() int {
	if s.split == nil {
		return 0
	}
	return holds / (crowded + quiet)
}

// scripts is how many script calls the old primary has answered, 0 if it does not answer.
func (s *Site) scripts() int64 {
	if !s.deposed() {
		return 0
	}
	return s.old.Calls(s.t, "evalsha") + s.old.Calls(s.t, "eval")
}
