package topologies

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// TestMain runs more tests at a time than there are processors, because they mostly wait. An explicit
// -parallel takes precedence.
func TestMain(m *testing.M) {
	redistest.InParallel(8)
	redis.SetLogger(silence{})
	// go-redis itself never closes the connection by which a failover client listens to its Sentinels.
	const lib = "github.com/redis/go-redis/v9."
	redistest.Main(m, goleak.IgnoreAnyFunction(lib+"(*sentinelFailover).listen"),
		goleak.IgnoreAnyFunction(lib+"(*channel).initMsgChan.func1"),
		goleak.IgnoreAnyFunction(lib+"(*channel).initHealthCheck.func1"))
}

const (
	patience = 40 * time.Second // for what must happen; nothing is measured against it

	// never is a poll interval that no test outlives: a waiter that wakes was woken by a message.
	never = time.Hour

	holderLease = 10 * time.Second // of a holder whose lease bounds commands as well
)

// silence keeps go-redis from logging every Sentinel that it has found.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

var quiet = slog.New(slog.DiscardHandler)

// site is a running topology.
type site struct {
	servers []*redistest.Server // all that hold data, whatever their present roles
	connect func(dial dialer) redis.UniversalClient
	nodes   bool // the servers are independent: nothing but a quorum makes sense

	cluster  *redistest.ReplicatedClusterLab
	sentinel *redistest.SentinelLab
	aim      *atomic.Pointer[redistest.Server] // where clients without another address go
	failed   bool                              // a primary was replaced
	permits  sync.Map                          // the names of semaphores, whose numbers stay
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// topology is a way to run Redis.
type topology struct {
	name  string
	start func(t testing.TB, opts ...redistest.Option) *site
}

// topologies are all of the lab. Package redistest documents the switch that decides what they run on.
var topologies = []topology{
	{"single", single}, {"replicated", replicated}, {"sentinel", sentinel}, {"cluster", cluster}, {"five nodes", fiveNodes},
}

func single(t testing.TB, opts ...redistest.Option) *site {
	return aimed(redistest.Start(t, opts...))
}

// replicated is a primary with two replicas, which only the test promotes.
func replicated(t testing.TB, opts ...redistest.Option) *site {
	primary := redistest.Start(t, opts...)
	return aimed(primary, redistest.Replica(t, primary, opts...), redistest.Replica(t, primary, opts...))
}

// aimed is a site whose clients go where the test sends them, as behind a virtual address.
func aimed(primary *redistest.Server, replicas ...*redistest.Server) *site {
	s := &site{servers: append([]*redistest.Server{primary}, replicas...)}
	s.aim = new(atomic.Pointer[redistest.Server])
	s.aim.Store(primary)
	s.connect = func(dial dialer) redis.UniversalClient {
		return redis.NewClient(&redis.Options{
			Addr: "primary.test:6379",
			Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dial(ctx, network, s.aim.Load().Addr())
			},
		})
	}
	return s
}

func sentinel(t testing.TB, opts ...redistest.Option) *site {
	return over(redistest.Sentinel(t, opts...))
}

// over is a lab of Sentinel whose clients ask any of the Sentinels.
func over(lab *redistest.SentinelLab) *site {
	return &site{
		servers: lab.Servers(), sentinel: lab,
		connect: func(dial dialer) redis.UniversalClient {
			o := lab.Options()
			o.Dialer = dial
			return redis.NewFailoverClient(o)
		},
	}
}

func cluster(t testing.TB, opts ...redistest.Option) *site {
	lab := redistest.ReplicatedCluster(t, 3, opts...)
	s := &site{servers: lab.Servers(), cluster: lab}
	s.connect = func(dial dialer) redis.UniversalClient {
		o := &redis.ClusterOptions{Dialer: dial}
		for _, server := range s.servers {
			o.Addrs = append(o.Addrs, server.Addr())
		}
		return redis.NewClusterClient(o)
	}
	return s
}

func fiveNodes(t testing.TB, opts ...redistest.Option) *site {
	s := &site{nodes: true}
	for range 5 {
		s.servers = append(s.servers, redistest.Start(t, opts...))
	}
	return s
}

// cut cuts the replicas off from the primary. It reports false if that is impossible without the others
// noticing.
func (s *site) cut(t testing.TB) bool {
	t.Helper()
	if s.aim == nil {
		return false
	}
	for _, replica := range s.servers[1:] {
		follow(t, replica, "127.0.0.1", "1")
	}
	return true
}

// fail kills every primary in turn and returns when a replica has taken its place and, where the lab can
// arrange it, has a replica itself.
func (s *site) fail(t testing.TB) {
	t.Helper()
	s.failed = true
	switch {
	case s.sentinel != nil:
		old := s.sentinel.Primary(t)
		old.Kill()
		s.sentinel.WaitFailover(t, old)
		old.Restart()
	case s.cluster != nil:
		for i := range s.cluster.Len() {
			s.cluster.Node(i).Kill()
			s.cluster.Promote(t, i)
			s.cluster.Node(i).Restart()
		}
	default:
		s.servers[0].Kill()
		next := s.servers[1]
		follow(t, next, "NO", "ONE")
		s.aim.Store(next)
		follow(t, s.servers[2], "127.0.0.1", strconv.Itoa(next.Port()))
		s.servers = s.servers[1:]
	}
}

func follow(t testing.TB, server *redistest.Server, host, port string) {
	t.Helper()
	rdb := server.Client(t)
	require.NoError(t, rdb.ReplicaOf(context.Background(), host, port).Err())
	require.NoError(t, rdb.Close())
}

// primaries returns the servers that accept writes now.
func (s *site) primaries(t testing.TB) (all []*redistest.Server) {
	t.Helper()
	if s.sentinel != nil { // a deposed one considers itself a primary for a while
		return []*redistest.Server{s.sentinel.Primary(t)}
	}
	for _, server := range s.servers {
		if server.Info(t, "replication")["role"] == "master" {
			all = append(all, server)
		}
	}
	return all
}
