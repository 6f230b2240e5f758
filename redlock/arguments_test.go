package redlock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// refused makes a client of bad arguments and asserts that the error is typed and names them.
func refused(t *testing.T, name string, nodes []redis.UniversalClient, o *redlock.Options) {
	t.Helper()
	client, err := redlock.NewClient(nodes, o)
	require.Nil(t, client)
	var bad *rlock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, name, bad.Name)
	require.NotEmpty(t, bad.Problem)
}

// Need 15, bug 44, bug 50: a client of anything but one independent node is refused, with a reason.
func TestClientsThatAreNoNodes(t *testing.T) {
	t.Parallel()
	at := func(addr string) redis.UniversalClient {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"},
	})
	for _, c := range []redis.UniversalClient{ring, cluster, sentinel} {
		t.Cleanup(func() { _ = c.Close() })
	}
	type embedded struct{ redis.UniversalClient }
	a, b := at("127.0.0.1:1"), at("127.0.0.1:2")
	refused(t, "nodes", nil, nil)
	refused(t, "nodes", []redis.UniversalClient{}, nil)
	for _, bad := range []redis.UniversalClient{
		nil, (*redis.Client)(nil), ring, cluster, sentinel, (*redis.ClusterClient)(nil), embedded{a},
	} {
		refused(t, "nodes[1]", []redis.UniversalClient{a, bad, b}, nil)
	}
	refused(t, "nodes[2]", []redis.UniversalClient{a, b, a}, nil)
	refused(t, "nodes[1]", []redis.UniversalClient{a, at("127.0.0.1:1")}, nil)
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = rdb.Close() }()
	nodes := []redis.UniversalClient{rdb}
	with := func(change func(o *redlock.Options)) *redlock.Options {
		var o redlock.Options
		change(&o)
		return &o
	}
	for name, o := range map[string]*redlock.Options{
		"ClientOptions.MinReplicas": with(func(o *redlock.Options) { o.MinReplicas = 1 }),
		"ClientOptions.Fsync":       with(func(o *redlock.Options) { o.Fsync = true }),
		"ClientOptions.Lease":       with(func(o *redlock.Options) { o.Lease = time.Millisecond }),
		"Options.NodeTimeout":       with(func(o *redlock.Options) { o.NodeTimeout = 6 * time.Second }),
		"Options.RestartGuard":      with(func(o *redlock.Options) { o.RestartGuard = time.Second }),
		"ClientOptions.FenceTTL":    with(func(o *redlock.Options) { o.FenceTTL = 10 * time.Second }),
	} {
		refused(t, name, nodes, o)
	}
	refused(t, "Options.NodeTimeout", nodes, with(func(o *redlock.Options) { o.NodeTimeout = -1 }))
	refused(t, "Options.RestartGuard", nodes, with(func(o *redlock.Options) { o.RestartGuard = -1 }))
}

// Bad names and options of a handle are told by the first call, before anything is sent.
func TestHandlesThatAreRefused(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = rdb.Close() }()
	client, err := redlock.NewClient([]redis.UniversalClient{rdb}, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for name, lock := range map[string]*rlock.Lock{
		"name":         redlock.New(client, ""),
		"client":       redlock.New(nil, "x"),
		"FixedLease":   redlock.New(client, "x", rlock.FixedLease(31*time.Second)),
		"MaxWait":      redlock.New(client, "x", rlock.MaxWait(-1)),
		"client again": redlock.New(&redlock.Client{}, "x"),
	} {
		_, unlock, err := lock.Lock(within(t))
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, name)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		if bad.Name == "client" {
			require.EqualError(t, err, "holdfast: client must come from redlock.NewClient", name)
		}
	}
}

// Need 15, defect E1: servers that turn out not to be independent have no vote, whenever that shows. A Valkey
// tells by another field of INFO than Redis that it is a member of a cluster.
func TestServersThatAreNotIndependent(t *testing.T) {
	t.Parallel()
	t.Run("the same server under two addresses", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		l := &lab{t: t, servers: []*redistest.Server{s}}
		client := l.client([]string{s.Addr(), fmt.Sprintf("localhost:%d", s.Port())}, options(3*time.Second))
		noVote(t, redlock.New(client, "twice"))
		l.soonOn("twice")
	})
	t.Run("a replica", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, 1)
		replica := redistest.Replica(t, l.servers[0])
		client := l.client([]string{l.servers[0].Addr(), replica.Addr()}, options(3*time.Second))
		noVote(t, redlock.New(client, "copied"))
	})
	t.Run("a member of a cluster", func(t *testing.T) {
		t.Parallel()
		l := &lab{t: t}
		client := l.client(redistest.Cluster(t, 1).Addrs()[:1], options(3*time.Second))
		noVote(t, redlock.New(client, "member"))
	})
	t.Run("a replica beside a quorum", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, 2)
		replica := redistest.Replica(t, l.servers[0])
		client := l.client(append(l.direct(), replica.Addr()), options(3*time.Second))
		once(t, redlock.New(client, "beside"))
	})
}

// noVote asserts that there can be no quorum, which the error says at once and in words.
func noVote(t *testing.T, lock *rlock.Lock) {
	t.Helper()
	start := time.Now()
	_, _, err := lock.Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorIs(t, err, redlock.ErrNotIndependent)
	var node *redlock.NodeError
	require.ErrorAs(t, err, &node)
	require.Less(t, time.Since(start), patience/2, "nobody waits for what does not mend itself")
}

// One node, two, four: the quorum is more than half of them.
func TestEveryNumberOfNodesHasItsQuorum(t *testing.T) {
	t.Parallel()
	for size, spare := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 2} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, size)
			client := l.client(l.proxied(), options(3*time.Second))
			lock := redlock.New(client, "sized")
			last := once(t, lock)
			for i := range spare {
				l.proxies[i].Refuse(true)
				l.proxies[i].CutAll()
			}
			require.Greater(t, once(t, lock), last)
			l.proxies[spare].Refuse(true)
			l.proxies[spare].CutAll()
			_, _, err := lock.TryLock(within(t))
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			for i := range spare + 1 {
				l.proxies[i].Refuse(false)
			}
			once(t, lock)
			l.soonOn("sized")
		})
	}
}

// Something else at the key of a quorum is a conflict; at fewer nodes it costs a vote.
func TestSomethingElseAtTheKey(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	client := l.client(l.direct(), options(3*time.Second))
	lock := redlock.New(client, "used")
	for i := range 3 {
		_, unlock, err := lock.Lock(within(t))
		if i < 2 {
			require.NoError(t, err)
			require.NoError(t, unlock())
			redistest.Eventually(t, patience, func() bool { return len(l.fields(2, "used")) == 0 }, "released")
		} else {
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			require.NotErrorIs(t, err, rlock.ErrUnavailable)
		}
		require.NoError(t, l.servers[i].Client(t).Set(within(t), "used", "mine", 0).Err())
	}
	for i := range 3 {
		require.Equal(t, "mine", l.servers[i].Client(t).Get(within(t), "used").Val())
	}
}
