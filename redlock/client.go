package redlock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Options adjusts a Client. The zero value of every field means its default.
type Options struct {
	// ClientOptions are those of package rlock. MinReplicas must be 0 and Fsync false: a node with replicas
	// votes only for itself, and after a failover the new primary has forgotten its votes; of a node that restarts the
	// RestartGuard takes care.
	rlock.ClientOptions

	// NodeTimeout is how long a call waits for one node: a few round-trip times; at most a sixth of the lease, and 3
	// s. Zero means a twentieth of the lease, but at least 50 ms and at most 200 ms.
	NodeTimeout time.Duration

	// RestartGuard is how long a server must be up before it has a vote, because it may have forgotten locks that it
	// granted before it started. Set it to the longest lease that any process of the deployment uses; a longer Lease
	// or FixedLease is refused. Zero means Lease.
	//
	// It must be the same in every process, and no process can check the others. (A process that finds a lock held
	// for longer than its own guard time logs a warning.) So set it if leases may ever change, and deploy twice. To
	// lengthen leases, first deploy only the longer RestartGuard; when the last process with the shorter one has
	// ended, deploy the longer leases. To shorten leases, first deploy the shorter leases; when the last process with
	// the longer ones has ended and the longest lease has passed since, lower RestartGuard.
	RestartGuard time.Duration

	// NoRestartGuard lets servers vote at once: for tests, and for the first start of a deployment. With it, a server
	// that was restarted empty can grant a lock that another process still holds. Servers without INFO and ROLE, such
	// as miniredis, are then accepted.
	NoRestartGuard bool

	// BehindProxy asks for the server's uptime with every vote, inside the script, and not only once per connection.
	// It is needed if a proxy keeps a client's connection open while the proxy itself reconnects to a restarted
	// server. It costs the servers some µs per acquisition.
	BehindProxy bool
}

// Client is one process's participant in the contention for locks on a quorum of independent nodes. All methods are
// safe for concurrent use.
//
// The mutexes are taken in the order round.mu, hold.mu, sendQueue.mu; those of the holds and of the workers come after
// them. A survey's mutex and that of the identities are taken alone. No mutex is held while anything is sent or waited
// for, and the function onAnswer of a command is never called under that of a send queue, so it may take those of a
// round and a hold.
//
// The goroutines of this package are those of the send queues, at most one per node (sendQueue.run), and those of the
// nodes' hubs, two per node while a caller waits and for half a minute more. Close joins them. A call does not start
// one for each node: it queues a command at every send queue, and waits.
type Client struct {
	locks   *redisclient.Client
	core    redisclient.Core
	notices notices

	nodes []*node
	terms

	host   store.Host // the engine
	clock  *watchdog.Clock
	clocks serverclock.Clocks
	who    identities
	newest atomic.Int64 // the newest proposed token

	holds   holds
	workers workers
}

// terms are what a client's requests and locks are bound by. They are constant.
type terms struct {
	quorum      int
	timeout     time.Duration // for one node; with the default lease of 30 s 200 ms
	patience    time.Duration // after which a link that does not answer is given up; with that lease 3 s
	guard       time.Duration
	leastUptime int64        // s; 0: any
	perVote     bool         // the script asks for the uptime
	traits      store.Traits // of the locks
}

// NewClient makes a Client from the application's Redis clients, one for each node. The nodes must be separate
// servers without a common cause of failure, not of one cluster and not replicas of one another; three or five are
// usual. The Client copies addresses, credentials and TLS, and opens its own connections when it needs them;
// NewClient sends nothing. The application still owns its clients.
//
// Nil options mean the defaults. An invalid option, or a client of anything but a single server (nil, of Sentinel, a
// Cluster or a Ring, or a duplicate address), is an *rlock.ArgumentError. Servers that later turn out to be the same
// one, or no primaries, have no vote, and errors say why.
func NewClient(nodes []redis.UniversalClient, opts *Options) (*Client, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(nodes); err != nil {
		return nil, err
	}
	checked, err := redisclient.Options(o.ClientOptions).Checked()
	if err != nil {
		return nil, err
	}
	c := &Client{clock: watchdog.NewClock(), terms: terms{quorum: len(nodes)/2 + 1, perVote: o.BehindProxy}}
	c.holds.byID, c.holds.tried = make(map[string]*hold), make(map[string]struct{})
	hears := &ears{Store: redisstore.New(links.Nowhere(), redisstore.Confirmation{}), client: c}
	c.locks, err = redisclient.On(checked, hears, false)
	if err != nil {
		return nil, err
	}
	c.workers.life, c.workers.end = context.WithCancel(context.Background())
	if c.notices.logger = o.Logger; o.Logger == nil {
		c.notices.logger = slog.Default()
	}
	if c.core, err = c.locks.Core(); err == nil {
		err = c.setTimes(o)
	}
	if err == nil {
		err = c.link(nodes)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// setTimes checks and sets the times that depend on the lease.
//
// An example with a lease of 30 s. A node has 200 ms to answer before it counts as silent. Its connection is
// given up after 3 s. The guard time is 30 s, so a server has a vote from an uptime of 31 s on: the server may
// report 31 s when 30.001 s have passed. A token may be 15 s ahead of a node's clock (see Client.window), and
// tokens must be kept for at least 60 s.
//
// A sixth of the lease as the limit of NodeTimeout leaves time for the two rounds of an acquisition, and a
// renewal that failed can be repeated before the lease ends.
func (c *Client) setTimes(o Options) error {
	lease := c.core.Lease
	limit := request.CommandLimit(lease)
	c.timeout = o.NodeTimeout
	if c.timeout == 0 {
		c.timeout = min(max(lease/20, 50*time.Millisecond), 200*time.Millisecond, limit)
	}
	c.guard = o.RestartGuard
	c.traits = store.Traits{
		Kind: string(lock.KindRedlock), Passes: true, Stays: errStays, CheckLease: c.checkLease,
	}
	if c.guard == 0 {
		c.guard = lease
	}
	c.patience = max(limit, c.timeout)
	switch {
	case c.timeout < time.Millisecond || c.timeout > limit:
		return &rlock.ArgumentError{Name: "Options.NodeTimeout", Value: o.NodeTimeout,
			Problem: fmt.Sprintf("must be between 1ms and %v, a sixth of the lease but at most 3s", limit)}
	case c.guard < lease:
		return &rlock.ArgumentError{Name: "Options.RestartGuard", Value: o.RestartGuard,
			Problem: "must be at least the lease, " + lease.String()}
	case c.core.FenceTTL >= 0 && c.core.FenceTTL < 2*c.guard.Milliseconds():
		return &rlock.ArgumentError{Name: "ClientOptions.FenceTTL", Value: o.FenceTTL,
			Problem: fmt.Sprintf("must be at least %v, twice the guard time", 2*c.guard)}
	}
	if !o.NoRestartGuard {
		// The server reports its start and the present in whole seconds, so an uptime may be a second too long.
		c.leastUptime = int64((c.guard+time.Second-1)/time.Second) + 1
	}
	return nil
}

func (o *Options) check(nodes []redis.UniversalClient) error {
	if len(nodes) == 0 {
		return &rlock.ArgumentError{Name: "nodes", Problem: "must not be empty"}
	}
	if o.MinReplicas != 0 {
		return &rlock.ArgumentError{Name: "ClientOptions.MinReplicas", Value: o.MinReplicas,
			Problem: "must be 0: each node votes for itself alone"}
	}
	if o.Fsync {
		return &rlock.ArgumentError{Name: "ClientOptions.Fsync", Value: o.Fsync,
			Problem: "must be false: RestartGuard keeps a node that may have forgotten its votes from voting"}
	}
	at := make(map[string]int)
	for i, rdb := range nodes {
		single, ok := rdb.(*redis.Client)
		if !ok || single == nil {
			continue // link reports what is wrong
		}
		addr := links.Address(single.Options().Addr)
		if first, twice := at[addr]; twice {
			return &rlock.ArgumentError{Name: fmt.Sprintf("nodes[%d]", i), Value: addr,
				Problem: fmt.Sprintf("must not be the server of nodes[%d]", first)}
		}
		at[addr] = i
	}
	return nil
}

// link creates the clients of the nodes.
func (c *Client) link(nodes []redis.UniversalClient) error {
	limits := links.Limits{Command: c.patience}
	for i, rdb := range nodes {
		n := &node{client: c}
		n.node = n
		if err := n.link(rdb, limits); err != nil {
			problem := strings.TrimPrefix(err.Error(), links.ErrUnsupported.Error()+": ")
			return &rlock.ArgumentError{Name: fmt.Sprintf("nodes[%d]", i), Problem: problem}
		}
		c.nodes = append(c.nodes, n)
	}
	return nil
}

// Stats returns what the Client does at this moment, like that of package rlock. A hold is one, on however many nodes
// it stands, and so is a release.
func (c *Client) Stats() rlock.Stats {
	if c.check() != nil {
		return rlock.Stats{}
	}
	return c.locks.Stats()
}

// check returns the error of a client that did not come from NewClient.
func (c *Client) check() error {
	if c == nil || c.locks == nil {
		return &rlock.ArgumentError{Name: "client", Problem: "must come from redlock.NewClient"}
	}
	return nil
}

// Close ends the Client like that of package rlock: new calls and waiting ones return ErrClosed, the holds are
// released, and every goroutine is joined. It does not wait for nodes that do not answer: what such a node has, or gets
// by a request that is still under way, ends there with its lease. Nobody is kept out if the others are a majority.
//
// The order matters. The holds are released first, by commands in the send queues. Then drain gives the nodes that
// answer one NodeTimeout to carry them out. Only then does closed keep spawn from starting another goroutine,
// and the end of life and the closed connections make those that wait for a reply return. Since spawn adds to
// running under mu, and not once closed is true, nothing is added while Wait waits. What a silent node still has
// of a hold ends there with its lease.
func (c *Client) Close() error {
	if err := c.check(); err != nil {
		return err
	}
	err := c.locks.Close()
	if c.workers.areClosed() {
		return err
	}
	c.drain()
	c.workers.close()
	for _, n := range c.nodes {
		n.close()
	}
	c.workers.end()
	for _, n := range c.nodes {
		_ = n.server.Close() // nothing to do if the client is closed already
	}
	c.workers.running.Wait()
	return err
}

// drain waits until nodes that answer have released everything.
//
// It polls because being idle is a property of all send queues together, which no single event announces; it does so
// only once in a client's life, for NodeTimeout at most.
func (c *Client) drain() {
	end := c.clock.Now() + c.timeout
	for {
		busy := false
		for _, n := range c.nodes {
			busy = busy || !n.idle()
		}
		if !busy || c.clock.Now() >= end {
			return
		}
		<-time.After(time.Millisecond) // bounded by end
	}
}
