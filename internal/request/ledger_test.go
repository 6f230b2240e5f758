package request

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/watchdog"
)

// plainLock is a protocol of which only releases are asked for.
type plainLock struct {
	redisstore.Protocol
	key string
}

func (p plainLock) Key() string { return p.key }

func (p plainLock) Name() string { return p.key }

func (plainLock) Traits() *store.Traits { return &store.Traits{} }

func (p plainLock) Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply] {
	return luacall.Release(luacall.ReleaseArgs{
		Lock: p.key, ID: id, Channel: p.key + ":released", Sharded: sharded, WantNow: wantNow,
	})
}

// Two names, one in each half of the slots.
const (
	lowKey  = "bar" // slot 5061
	highKey = "foo" // slot 12182
)

// halves is a cluster of two nodes, each with one half of the slots, and a sender that only reclaims.
type halves struct {
	sender    *Sender
	conns     *links.Links
	store     *redisstore.Store
	low, high *simredis.Server
}

func newHalves(t *testing.T) *halves {
	const lowAddr, highAddr = "10.0.0.1:6379", "10.0.0.2:6379"
	c := &halves{low: simredis.New(t), high: simredis.New(t)}
	nodes := map[string]*simredis.Server{lowAddr: c.low, highAddr: c.high}
	for _, node := range nodes {
		node.Miniredis().Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
			if cmd != "INFO" {
				return false
			}
			p.WriteBulk("cluster_enabled:0\r\n") // so that releases are published the plain way
			return true
		})
	}
	rdb := redis.NewClusterClient(&redis.ClusterOptions{
		ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			return []redis.ClusterSlot{
				{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: lowAddr}}},
				{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: highAddr}}},
			}, nil
		},
		Dialer:          func(_ context.Context, _, addr string) (net.Conn, error) { return nodes[addr].Dial() },
		DisableIdentity: true,
	})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	conns, err := links.From(rdb, links.Limits{Command: CommandLimit(time.Minute), Life: time.Second})
	require.NoError(t, err)
	sharded, err := conns.Sharded(context.Background())
	require.NoError(t, err)
	require.False(t, sharded)
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, 0)
	c.conns, c.store = conns, redisstore.New(conns, redisstore.Confirmation{})
	c.store.Start(store.Host{Clock: clock, Wheel: wheel, Replaced: func() {}})
	c.sender = New(Config{Store: c.store, Lease: time.Minute, Clock: clock})
	t.Cleanup(func() {
		require.True(t, c.sender.Close())
		c.store.End()
		c.store.HangUp()
		c.sender.Wait()
		c.store.Wait()
		wheel.Close()
	})
	return c
}

// hold puts a hold in Redis, which is nobody's.
func (c *halves) hold(t *testing.T, key string) Disowned {
	t.Helper()
	id := "client:" + key
	got, err := luacall.Acquire(luacall.AcquireArgs{
		Lock: key, Token: "{" + key + "}:token", ID: id, FenceTTL: -1,
		Lease: time.Minute.Milliseconds(), NotAfter: time.Now().Add(time.Minute).UnixMicro(),
	}).Run(context.Background(), c.conns.Traffic)
	require.NoError(t, err)
	require.Equal(t, store.Held, got.Status)
	return Disowned{Proto: c.store.Bind(plainLock{key: key}), ID: id, Lease: time.Minute}
}

// defect B22: a node that does not answer a release holds up none of another node.
func TestAHungNodeHoldsUpReleasesOfNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHalves(t)
		stuck, free := c.hold(t, lowKey), c.hold(t, highKey)
		c.low.Freeze()
		c.sender.Disown(stuck)
		synctest.Wait() // it is being asked for
		c.sender.Disown(free)
		synctest.Wait()
		require.False(t, c.high.Miniredis().Exists(highKey), "the release waits for another node's answer")
		require.True(t, c.low.Miniredis().Exists(lowKey))
		c.low.Thaw()
		time.Sleep(10 * time.Second)
		require.False(t, c.low.Miniredis().Exists(lowKey))
	})
}

// lastingLock is a lock that no lease ends, as in etcd.
type lastingLock struct{ plainLock }

func (lastingLock) Traits() *store.Traits { return &store.Traits{Lasts: true} }

// Where more is to be released than is remembered, what has a lease is left to it. What no lease ends is released all
// the same: it would be taken until its client is closed (defect G12).
func TestWhatNoLeaseEndsIsReleasedHoweverMuchIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newHalves(t)
		c.sender.cfg.Warn = func(string, ...any) {}
		leased, lasting := c.hold(t, lowKey), c.hold(t, highKey)
		lasting.Proto = c.store.Bind(lastingLock{plainLock{key: highKey}})
		c.sender.ledger.mu.Lock()
		c.sender.ledger.count += maxOwed
		c.sender.ledger.mu.Unlock()
		c.sender.Disown(leased)
		c.sender.Disown(lasting)
		time.Sleep(time.Second)
		require.True(t, c.low.Miniredis().Exists(lowKey), "its lease will end")
		require.False(t, c.high.Miniredis().Exists(highKey))
		c.sender.ledger.mu.Lock()
		c.sender.ledger.count -= maxOwed
		c.sender.ledger.mu.Unlock()
	})
}
