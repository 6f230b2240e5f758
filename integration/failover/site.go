package failover

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redistest"
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
)

// Kinds are all kinds.
var Kinds = []Kind{
	ClusterKilled, ClusterStopped, ClusterCommanded, SentinelPlanned, SentinelKilled, SentinelStopped,
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
	old      *redistest.Server // the primary
	next     *redistest.Server // its replica
	names    atomic.Int64
}

// NewSite starts servers.
func NewSite(t testing.TB, kind Kind) *Site {
	t.Helper()
	s := &Site{t: t, kind: kind}
	switch kind {
	case ClusterKilled, ClusterStopped, ClusterCommanded:
		s.cluster = redistest.ReplicatedCluster(t, 3, redistest.WithArgs("--cluster-node-timeout", nodeTimeout))
		s.old, s.next = s.cluster.Node(victim), s.cluster.Replica(victim)
	default:
		s.sentinel = redistest.Sentinel(t)
		s.old = s.sentinel.Primary(t)
		for _, server := range s.sentinel.Servers() {
			if server != s.old {
				s.next = server
			}
		}
	}
	return s
}

// Client makes a client as an application would.
func (s *Site) Client() redis.UniversalClient {
	if s.cluster != nil {
		return s.cluster.Client(s.t)
	}
	return s.sentinel.Client(s.t)
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

// strike makes the primary fail.
func (s *Site) strike() {
	switch s.kind {
	case ClusterKilled, SentinelKilled:
		s.old.Kill()
	case ClusterStopped, SentinelStopped:
		s.old.Stop()
	case ClusterCommanded:
		s.order(s.next, "cluster", "failover")
	case SentinelPlanned:
		s.order(s.sentinel.Sentinels()[0], "sentinel", "failover", "primary")
	}
}

func (s *Site) order(server *redistest.Server, command ...any) {
	rdb := redis.NewClient(server.Options())
	defer func() { _ = rdb.Close() }()
	redistest.Eventually(s.t, patience, func() bool { return rdb.Do(context.Background(), command...).Err() == nil },
		"the failover did not begin")
}

// serves waits until the replica accepts writes, and returns that moment.
func (s *Site) serves(probe string) time.Time {
	opts := s.next.Options()
	opts.MaxRetries = -1
	rdb := redis.NewClient(opts)
	defer func() { _ = rdb.Close() }()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		if rdb.Set(context.Background(), probe, "", time.Second).Err() == nil {
			return time.Now()
		}
		if time.Now().After(end) {
			s.t.Fatalf("failover: the replica was not promoted")
		}
	}
}

// deposed reports that the old primary goes on and still considers itself a primary.
func (s *Site) deposed() bool { return s.kind == SentinelPlanned }

// scripts is how many script calls the old primary has answered, 0 if it does not answer.
func (s *Site) scripts() int64 {
	if !s.deposed() {
		return 0
	}
	return s.old.Calls(s.t, "evalsha") + s.old.Calls(s.t, "eval")
}
