package links

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Limits bound the derived clients.
type Limits struct {
	Command time.Duration // one command
	Life    time.Duration // of trust in a primary behind Sentinel without a confirmation, and of subscriptions there
}

// beyond is a connection's own limit, never reached before the deadline of a command: go-redis's clock for
// it may be late by 50 ms.
func (l Limits) beyond() time.Duration { return l.Command + 200*time.Millisecond }

// Links are the derived clients. All methods are safe for concurrent use.
//
// Only the topology changes after From has returned, and has no mutex. Those of the parts, tracks.mu, primary.mu and
// joined.mu, are taken alone.
// Goroutines: the follower's and those that ask Sentinels, which Close joins; and one for each dial, which ends with
// the dial's own time limit (see interruptible).
type Links struct {
	Traffic redis.UniversalClient // all that is sent for locks, and subscriptions
	probe   redis.UniversalClient // only the question whether a primary behind Sentinel is one; nil elsewhere

	follow *follower     // nil if the primary is always the same
	tracks []*tracks     // of the derived clients
	ended  chan struct{} // closed by end
	end    func()
	left   context.Context // ended by leave
	leave  func()

	sentinel bool // the primary may change without the connection noticing
	command  time.Duration
	life     time.Duration
	greeting time.Duration
	callers  int
	topology topology
}

// Exchanges is how many exchanges with a node the callers of locks may have under way at the same time. With four, 64
// names that are free lose a seventh at a distance of 0.3 ms; one is at its limit with 512.
const Exchanges = 8

// reserve is how many connections to a node its pool has beside those of the callers' exchanges. Renewals take one, and
// another one while the first hangs; what is cleaned up takes one; and so do questions about the topology. So none of
// these ever waits until an exchange has ended.
const reserve = 4

// bufferSize suffices for a connection whose requests and replies are short.
const bufferSize = 4 << 10

// These hold the longest requests and replies: of exchanges with many calls, and of renewals of 256 holds, for which
// several writes would take longer than all the rest. Go-redis's own take more than that.
const (
	writeBuffer = 32 << 10
	readBuffer  = 16 << 10
)

// ErrUnsupported is wrapped by the error of [From] for a client that it cannot derive from.
var ErrUnsupported = errors.New("unsupported client")

// From derives the clients. It sends nothing. The error says briefly what is wrong with rdb.
func From(rdb redis.UniversalClient, limits Limits) (*Links, error) {
	if v := reflect.ValueOf(rdb); !v.IsValid() || (v.Kind() == reflect.Pointer && v.IsNil()) {
		return nil, fmt.Errorf("%w: must not be nil", ErrUnsupported)
	}
	switch c := rdb.(type) {
	case *redis.Client:
		return fromSingle(c.Options(), limits), nil
	case *redis.ClusterClient:
		return fromCluster(c.Options(), limits), nil
	case *redis.Ring:
		return nil, fmt.Errorf("%w: must not be a *redis.Ring, which moves a name to another shard by each client's "+
			"own heartbeat, so that two clients hold it", ErrUnsupported)
	}
	return nil, fmt.Errorf("%w: must be a *redis.Client (single node or Sentinel) or a *redis.ClusterClient, not a %T",
		ErrUnsupported, rdb)
}

func newLinks(limits Limits) *Links {
	l := &Links{
		ended: make(chan struct{}), command: limits.Command, life: limits.Life,
		greeting: 2 * greetingFor(limits.Command),
	}
	l.end = sync.OnceFunc(func() { close(l.ended) })
	l.left, l.leave = context.WithCancel(context.Background())
	l.topology.joined.init()
	return l
}

func fromSingle(given *redis.Options, limits Limits) *Links {
	l := newLinks(limits)
	l.sentinel = given.Addr == sentinelAddr
	alone := &tracks{dialled: true, used: func() {}, doubtful: func() {}}
	l.tracks = []*tracks{alone}
	traffic := alone.wrap(given.Dialer)
	if l.sentinel {
		l.follow = newFollower(limits)
		l.follow.pause = pauseSentinel
		side := l.follow.side(false, limits)
		l.follow.named = newPrimary(given, limits, func() { l.follow.doubted.Store(true) })
		side.primaries = l.follow.named.primaries
		traffic, l.tracks = side.tracks.wrap(l.follow.named.dial), []*tracks{&side.tracks}
	}
	derive := func(pool, readBuffer, writeBuffer int, dialer dial) *redis.Client {
		o := *given
		o.ContextTimeoutEnabled = true
		o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limits.beyond(), limits.beyond(), limits.Command
		o.DialTimeout = greetingFor(limits.Command)
		greet := greetings{
			l, given.CredentialsProvider, given.CredentialsProviderContext, given.Username, given.Password,
			given.OnConnect,
		}
		o.CredentialsProviderContext, o.OnConnect = greet.credentials, greet.connected
		o.StreamingCredentialsProvider = streamed(l, given.StreamingCredentialsProvider)
		o.DialerRetries = 1
		o.MaxRetries = -1
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = pool, 0, 0, 0
		o.MaxConcurrentDials, o.ConnMaxIdleTime = pool, idle(given.ConnMaxIdleTime)
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		o.AutoPipelineOptions = nil
		o.ReadBufferSize, o.WriteBufferSize, o.PipelinePoolSize = readBuffer, writeBuffer, -1
		o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
		o.PushNotificationProcessor = nil
		o.Limiter = nil
		o.Dialer = undaunted(outspoken(bounded(interruptible(l.ended, dialer))))
		if l.sentinel {
			o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = 0, 0 // it would need a Sentinel; see primary
		}
		return guarded(redis.NewClient(&o))
	}
	l.Traffic = derive(l.pooled(given.PoolSize), readBuffer, writeBuffer, traffic)
	if l.sentinel {
		aside := l.follow.aside(limits)
		l.probe, l.tracks = derive(1, bufferSize, bufferSize, aside.tracks.wrap(l.follow.named.probe)),
			append(l.tracks, &aside.tracks)
		l.follow.role, l.follow.spare = roleOf(l.probe), roleOf(l.Traffic)
		l.follow.named.roleAt = func(ctx context.Context, addr string, d dial) (*primaryRole, error) {
			c := derive(1, bufferSize, bufferSize, func(ctx context.Context, network, _ string) (net.Conn, error) {
				return d(ctx, network, addr)
			})
			defer func() { _ = c.Close() }()
			return roleOf(c)(ctx)
		}
	}
	return l
}

// idle is how long a connection may be idle until it is replaced, for an application that allows a time. Balancers
// forget connections that are idle for longer than this: the first of them after four minutes. Go-redis's own limit is
// longer, so it is taken for no choice of the application.
func idle(given time.Duration) time.Duration {
	const unset, limit = 30 * time.Minute, 200 * time.Second
	if given == 0 || given == unset {
		return limit
	}
	return given
}

// pooled returns the size of the pool of each node, for an application that has one of a given size.
func (l *Links) pooled(given int) int {
	l.callers = max(given, Exchanges)
	return l.callers + reserve
}

// Callers is how many exchanges with a node callers may have under way, at the most, so that none of what else is sent
// waits for a connection.
func (l *Links) Callers() int { return l.callers }

// sentinelAddr is the address that go-redis gives a client of NewFailoverClient.
const sentinelAddr = "FailoverClient"

func fromCluster(given *redis.ClusterOptions, limits Limits) *Links {
	l := newLinks(limits)
	l.sentinel = given.ClusterSlots != nil // by NewFailoverClusterClient: a cluster client of Sentinel
	if l.topology.invented = l.sentinel; !l.sentinel {
		l.topology.seeds = newSeeds(given.Addrs, 2*greetingFor(limits.Command)+limits.Command, l.topology.noteKind)
	}
	dialer := given.Dialer
	if dialer == nil {
		dialer = redis.NewDialer(&redis.Options{
			DialTimeout: greetingFor(limits.Command), TLSConfig: given.TLSConfig,
		})
	}
	l.follow = newFollower(limits)
	side := l.follow.side(true, limits)
	l.tracks = []*tracks{&side.tracks}
	traffic := l.cluster(given, limits, side.tracks.wrap(dialer))
	side.primaries, l.Traffic = mastersOf(traffic), traffic
	if l.sentinel {
		l.follow.role, l.follow.pause = roleOf(traffic), pauseSentinel
	}
	return l
}

// cluster derives a client of the cluster of the application's.
func (l *Links) cluster(given *redis.ClusterOptions, limits Limits, dialer dial) *redis.ClusterClient {
	o := *given
	o.ContextTimeoutEnabled = true
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limits.beyond(), limits.beyond(), limits.Command
	o.DialTimeout = greetingFor(limits.Command)
	greet := greetings{
		l, given.CredentialsProvider, given.CredentialsProviderContext, given.Username, given.Password,
		given.OnConnect,
	}
	o.CredentialsProviderContext, o.OnConnect = greet.credentials, greet.connected
	o.StreamingCredentialsProvider = streamed(l, given.StreamingCredentialsProvider)
	o.DialerRetries = 1
	// A pipeline sleeps for the backoff before it follows a redirection; deadlines here are tight.
	o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1, -1
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = l.pooled(given.PoolSize), 0, 0, 0
	o.MaxConcurrentDials, o.ConnMaxIdleTime = o.PoolSize, idle(given.ConnMaxIdleTime)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.AutoPipelineOptions = nil
	o.ReadBufferSize, o.WriteBufferSize, o.PipelinePoolSize = readBuffer, writeBuffer, -1
	o.PushNotificationProcessor = nil
	o.NewClient = nil
	o.Addrs = slices.Clone(given.Addrs) // a cluster client appends to it
	l.askBy(&o)
	// Scripts always go to the primary of their key's slot, whatever the application reads from.
	o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
	o.DisableRoutingPolicies = true
	o.Dialer = undaunted(outspoken(bounded(interruptible(l.ended, dialer))))
	if l.sentinel {
		o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = limits.Life, 0
		o.ClusterStateReloadInterval = limits.Life
	}
	cc := redis.NewClusterClient(&o)
	cc.OnNewNode(func(node *redis.Client) { guarded(node) })
	return cc
}

// Nowhere returns links for a client whose scripts find their own ways. They have no connections.
func Nowhere() *Links { return &Links{} }

// Close closes the derived clients and with them every connection, including those in use and those being
// dialled.
//
// The order: ended is closed first, so dials return and nobody waits for a connection any more. Then every connection
// is closed, also one that go-redis has not made part of a pool yet, because its server does not answer the greeting.
// Closing the clients ends every exchange, the follower's questions among them; so the follower can be joined.
func (l *Links) Close() error {
	if l.Traffic == nil {
		return nil
	}
	l.leave()
	l.end()
	l.topology.end()
	defer l.topology.wait()
	if l.follow != nil {
		l.follow.end()
		defer l.follow.joined.running.Wait()
	}
	defer func() {
		for _, ts := range l.tracks {
			ts.end()
		}
	}()
	if l.probe == nil {
		return l.Traffic.Close()
	}
	defer l.follow.named.sentinels.end()
	return errors.Join(l.Traffic.Close(), l.probe.Close())
}

// Slowness is how long the application's client takes to leave a Sentinel that hangs: 0 if it has none, and less than 0
// if it never does.
func (l *Links) Slowness() time.Duration {
	switch {
	case l.probe == nil:
		return 0
	case l.follow.named.sentinels.hang <= 0:
		return -1
	}
	return 2 * l.follow.named.sentinels.hang // one attempt to hear from it, and then one to hear from all
}

// Replaceable reports that the primary of a key may be replaced.
func (l *Links) Replaceable() bool { return l.follow != nil }

// OnReplaced sets a function that is called after a primary was replaced and its connections were closed.
// One goroutine makes all calls.
func (l *Links) OnReplaced(fn func()) {
	if l.follow != nil {
		l.follow.changed.Store(&fn)
	}
}

// Hook has a hook see what is sent to servers, each time that it is sent. It must be set before the first
// command. A cluster's nodes have it instead of the cluster, so that it sees the answers of each, and those commands
// too that are sent to a node by itself.
func (l *Links) Hook(hook redis.Hook) {
	if l.Traffic == nil {
		return
	}
	if cc, ok := l.Traffic.(*redis.ClusterClient); ok {
		cc.OnNewNode(func(node *redis.Client) { node.AddHook(hook) })
		return
	}
	l.Traffic.AddHook(hook)
}

// Greeting is how long dialling and greeting may take together.
func (l *Links) Greeting() time.Duration { return l.greeting }

// Cluster reports whether keys live on several nodes.
func (l *Links) Cluster() bool {
	_, ok := l.Traffic.(*redis.ClusterClient)
	return ok
}

// Addr is the address of the one server; "" if there are several, or may be.
func (l *Links) Addr() string {
	if c, ok := l.Traffic.(*redis.Client); ok && !l.sentinel {
		return c.Options().Addr
	}
	return ""
}

// Life is how long a subscription may live, 0 for no limit.
func (l *Links) Life() time.Duration {
	if l.sentinel {
		return l.life
	}
	return 0
}

// Node returns the client of the one node that serves key, among those of a derived client. A connection of
// it follows no redirections.
func Node(ctx context.Context, c redis.UniversalClient, key string) (*redis.Client, error) {
	if cc, ok := c.(*redis.ClusterClient); ok {
		return cc.MasterForKey(ctx, key)
	}
	return c.(*redis.Client), nil
}

// NodeAt returns the client of the cluster's primary at an [Address], the target of a redirection.
func NodeAt(ctx context.Context, c redis.UniversalClient, addr string) (*redis.Client, error) {
	cc, ok := c.(*redis.ClusterClient)
	if !ok {
		return nil, fmt.Errorf("redirected to %s by a server that is not a cluster", addr)
	}
	var at atomic.Pointer[redis.Client]
	err := cc.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if Address(node.Options().Addr) == addr {
			at.Store(node)
		}
		return nil
	})
	if node := at.Load(); node != nil {
		return node, nil
	}
	return nil, errors.Join(fmt.Errorf("no known primary at %s", addr), err)
}

// Moved tells a cluster client that its map of the slots is out of date.
func (l *Links) Moved(ctx context.Context) {
	if cc, ok := l.Traffic.(*redis.ClusterClient); ok {
		cc.ReloadState(ctx)
	}
}

// Shard names the node that serves key. It asks nobody: it is "" for a single node, and for a cluster until Ready knows
// the map of the slots.
func (l *Links) Shard(ctx context.Context, key string) string {
	cc, ok := l.Traffic.(*redis.ClusterClient)
	if !ok || !l.topology.mapped.Load() {
		return ""
	}
	name := shardOf(ctx, cc, key)
	if name != "" && !l.topology.shards.has(name) {
		l.topology.shards.add(name, key, func(key string) string { return shardOf(ctx, cc, key) })
	}
	return name
}

func shardOf(ctx context.Context, cc *redis.ClusterClient, key string) string {
	c, err := cc.MasterForKey(ctx, key)
	if err != nil {
		return ""
	}
	return c.Options().Addr
}

// Serves reports that a node which Shard has named may still serve keys. What is known of another one can be forgotten.
func (l *Links) Serves(name string) bool {
	return !l.Cluster() || !l.topology.mapped.Load() || l.topology.shards.has(name)
}
