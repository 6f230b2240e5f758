package links

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
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
	Traffic redis.UniversalClient // acquisition, release, inspection, subscriptions
	Renewal redis.UniversalClient // only renewal
	probe   redis.UniversalClient // only the question whether a primary behind Sentinel is one; nil elsewhere

	follow *follower     // nil if the primary is always the same
	ended  chan struct{} // closed by end
	end    func()

	sentinel bool // the primary may change without the connection noticing
	life     time.Duration
	greeting time.Duration
	topology topology
}

// renewalPool is enough for one sender per node and the connection that replaces a broken one.
// A pool of the application's size would only allow renewals to queue behind one another on the server instead
// of in one script.
const renewalPool = 2

// bufferSize suffices for the scripts' requests and replies; most of go-redis's own 64 KiB per connection
// would never be used, and each attempt to dial a server that is down would allocate them.
const bufferSize = 4 << 10

// The buffers of connections for pipelines hold the longest requests and replies. So does the buffer that a
// renewal of 256 holds is written with: several writes take longer than the rest of the renewal.
const (
	pipelineWriteBuffer = 32 << 10
	pipelineReadBuffer  = 16 << 10
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
	l := &Links{ended: make(chan struct{}), greeting: 2 * greetingFor(limits.Command), life: limits.Life}
	l.end = sync.OnceFunc(func() { close(l.ended) })
	return l
}

func fromSingle(given *redis.Options, limits Limits) *Links {
	l := newLinks(limits)
	l.sentinel = given.Addr == sentinelAddr
	traffic, renewal := given.Dialer, given.Dialer
	if l.sentinel {
		l.follow = newFollower(limits)
		l.follow.pause = pauseSentinel
		ofTraffic, ofRenewal := l.follow.side(false, limits), l.follow.side(false, limits)
		l.follow.named = newPrimary(given, limits, func() { l.follow.doubted.Store(true) })
		ofTraffic.primaries = l.follow.named.primaries
		traffic, renewal = ofTraffic.tracks.wrap(l.follow.named.dial), ofRenewal.tracks.wrap(l.follow.named.dial)
	}
	derive := func(pool, writeBuffer int, dialer dial) *redis.Client {
		o := *given
		o.ContextTimeoutEnabled = true
		o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limits.beyond(), limits.beyond(), limits.Command
		o.DialTimeout = greetingFor(limits.Command)
		greet := greetings{
			given.CredentialsProvider, given.CredentialsProviderContext, given.Username, given.Password,
			given.OnConnect,
		}
		o.CredentialsProviderContext, o.OnConnect = greet.credentials, greet.connected
		o.DialerRetries = 1
		o.MaxRetries = -1
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = pool, 0, 0, 0
		o.MaxConcurrentDials = pool
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		o.AutoPipelineOptions = nil
		o.ReadBufferSize, o.WriteBufferSize = bufferSize, writeBuffer
		o.PipelineReadBufferSize, o.PipelineWriteBufferSize = pipelineReadBuffer, pipelineWriteBuffer
		o.ClientSideCache, o.ClientSideCacheConfig = nil, nil
		o.PushNotificationProcessor = nil
		o.Limiter = nil
		o.Dialer = undaunted(bounded(l.interruptible(dialer)))
		if l.sentinel {
			o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = 0, 0 // it would need a Sentinel; see primary
		}
		return guarded(redis.NewClient(&o))
	}
	l.Traffic = derive(given.PoolSize, bufferSize, traffic)
	l.Renewal = derive(renewalPool, pipelineWriteBuffer, renewal)
	if l.sentinel {
		l.probe = derive(1, bufferSize, l.follow.aside(limits).tracks.wrap(l.follow.named.probe))
		l.follow.role = roleOf(l.probe)
		l.follow.named.roleAt = func(ctx context.Context, addr string, d dial) (*primaryRole, error) {
			c := derive(1, bufferSize, func(ctx context.Context, network, _ string) (net.Conn, error) {
				return d(ctx, network, addr)
			})
			defer func() { _ = c.Close() }()
			return roleOf(c)(ctx)
		}
	}
	return l
}

// sentinelAddr is the address that go-redis gives a client of NewFailoverClient.
const sentinelAddr = "FailoverClient"

func fromCluster(given *redis.ClusterOptions, limits Limits) *Links {
	l := newLinks(limits)
	l.sentinel = given.ClusterSlots != nil // by NewFailoverClusterClient: a cluster client of Sentinel
	l.topology.invented = l.sentinel
	dialer := given.Dialer
	if dialer == nil {
		dialer = redis.NewDialer(&redis.Options{
			DialTimeout: greetingFor(limits.Command), TLSConfig: given.TLSConfig,
		})
	}
	derive := func(pool, writeBuffer int, dialer dial) *redis.ClusterClient {
		o := *given
		o.ContextTimeoutEnabled = true
		o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limits.beyond(), limits.beyond(), limits.Command
		o.DialTimeout = greetingFor(limits.Command)
		greet := greetings{
			given.CredentialsProvider, given.CredentialsProviderContext, given.Username, given.Password,
			given.OnConnect,
		}
		o.CredentialsProviderContext, o.OnConnect = greet.credentials, greet.connected
		o.DialerRetries = 1
		// A pipeline sleeps for the backoff before it follows a redirection; deadlines here are tight.
		o.MaxRetries, o.MinRetryBackoff, o.MaxRetryBackoff = -1, -1, -1
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = pool, 0, 0, 0
		o.MaxConcurrentDials = pool
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		o.AutoPipelineOptions = nil
		o.ReadBufferSize, o.WriteBufferSize = bufferSize, writeBuffer
		o.PipelineReadBufferSize, o.PipelineWriteBufferSize = pipelineReadBuffer, pipelineWriteBuffer
		o.PushNotificationProcessor = nil
		o.NewClient = nil
		// Scripts always go to the primary of their key's slot, whatever the application reads from.
		o.ReadOnly, o.RouteByLatency, o.RouteRandomly = false, false, false
		o.DisableRoutingPolicies = true
		o.Dialer = undaunted(bounded(l.interruptible(dialer)))
		if l.sentinel {
			o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = limits.Life, 0
			o.ClusterStateReloadInterval = limits.Life
		}
		cc := redis.NewClusterClient(&o)
		cc.OnNewNode(func(node *redis.Client) { guarded(node) })
		return cc
	}
	l.follow = newFollower(limits)
	ofTraffic, ofRenewal := l.follow.side(true, limits), l.follow.side(true, limits)
	traffic := derive(given.PoolSize, bufferSize, ofTraffic.tracks.wrap(dialer))
	renewal := derive(renewalPool, pipelineWriteBuffer, ofRenewal.tracks.wrap(dialer))
	ofTraffic.primaries, ofRenewal.primaries = mastersOf(traffic), mastersOf(renewal)
	l.Traffic, l.Renewal = traffic, renewal
	if l.sentinel {
		l.follow.role, l.follow.pause = roleOf(renewal), pauseSentinel
	}
	return l
}

// Nowhere returns links for a client whose scripts find their own ways. They have no connections.
func Nowhere() *Links { return &Links{} }

// Close closes the derived clients and with them every connection, including those in use and those being
// dialled.
//
// The order: ended is closed first, so dials return and nobody waits for a connection any more. Closing the
// clients ends every exchange on an open connection, the follower's questions among them; so the follower can
// be joined.
func (l *Links) Close() error {
	if l.Traffic == nil {
		return nil
	}
	l.end()
	if l.follow != nil {
		l.follow.end()
		defer l.follow.joined.running.Wait()
	}
	if l.probe == nil {
		return errors.Join(l.Traffic.Close(), l.Renewal.Close())
	}
	defer l.follow.named.sentinels.end()
	return errors.Join(l.Traffic.Close(), l.Renewal.Close(), l.probe.Close())
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

// Hook has a hook see what both clients send to servers, each time that it is sent. It must be set before the first
// command. A cluster's nodes have it instead of the cluster, so that it sees the answers of each, and those commands
// too that are sent to a node by itself.
func (l *Links) Hook(hook redis.Hook) {
	if l.Traffic == nil {
		return
	}
	for _, c := range []redis.UniversalClient{l.Traffic, l.Renewal} {
		if cc, ok := c.(*redis.ClusterClient); ok {
			cc.OnNewNode(func(node *redis.Client) { node.AddHook(hook) })
			continue
		}
		c.AddHook(hook)
	}
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

// NodeAt returns the client of the cluster's primary at addr, the target of a redirection.
func NodeAt(ctx context.Context, c redis.UniversalClient, addr string) (*redis.Client, error) {
	cc, ok := c.(*redis.ClusterClient)
	if !ok {
		return nil, fmt.Errorf("redirected to %s by a server that is not a cluster", addr)
	}
	var at atomic.Pointer[redis.Client]
	err := cc.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		if node.Options().Addr == addr {
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
	for _, c := range []redis.UniversalClient{l.Traffic, l.Renewal} {
		if cc, ok := c.(*redis.ClusterClient); ok {
			cc.ReloadState(ctx)
		}
	}
}

// Shard names the node that serves key, without waiting for the network once the map of the slots was read.
// It is "" for a single node, and for a cluster whose map is unavailable.
func (l *Links) Shard(ctx context.Context, key string) string {
	cc, ok := l.Traffic.(*redis.ClusterClient)
	if !ok {
		return ""
	}
	c, err := cc.MasterForKey(ctx, key)
	if err != nil {
		return ""
	}
	return c.Options().Addr
}
