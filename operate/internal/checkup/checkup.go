// Package checkup finds out whether a Redis suits locks, by questions that change nothing. What a server refuses to
// answer, or does not know, is a finding that says so.
package checkup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// Level is how bad a finding is.
type Level int

// The levels.
const (
	OK Level = iota
	Warning
	Failure
)

// Finding is one thing that was looked at.
type Finding struct {
	Name   string
	Server string // of a cluster: which one
	Level  Level
	Text   string
}

// Client is what is checked.
type Client struct {
	Redis       redis.UniversalClient
	Within      func(ctx context.Context) context.Context
	Sharded     func(ctx context.Context) (bool, error)
	Lease       time.Duration
	Limit       time.Duration // of a command
	MinReplicas int
	Fsync       bool
	Slowness    time.Duration // of the application's client in leaving a Sentinel that hangs; see links
	Key, Token  string        // of a scratch lock
	Channel     string        // of its releases
	Wanted      string        // what the channels begin with of clients whose locks others want
}

// check is one check of one client.
type check struct {
	*Client
	all []Finding
}

func (c *check) say(server, name string, level Level, format string, args ...any) {
	c.all = append(c.all, Finding{Name: name, Server: server, Level: level, Text: fmt.Sprintf(format, args...)})
}

// Run looks at every server that keeps locks, and then at what does not depend on the server.
func Run(ctx context.Context, client *Client) []Finding {
	c := &check{Client: client}
	nodes, err := c.nodes(ctx)
	if err != nil {
		c.say("", "connection", Failure, "no server answers: %v", err)
		return c.all
	}
	for _, node := range nodes {
		address := ""
		if len(nodes) > 1 {
			address = node.Options().Addr
		}
		c.node(ctx, address, node)
	}
	if slices.ContainsFunc(c.all, func(f Finding) bool { return f.Name == "connection" && f.Level == Failure }) {
		return c.all
	}
	c.sentinels()
	c.rights(ctx)
	c.messages(ctx)
	c.wants(ctx)
	return c.all
}

// longSlowness is what may be added to a failover without being the longer part of it.
const longSlowness = 2 * time.Second

// sentinels judges how soon the client learns of a failover when a Sentinel hangs at the same time.
func (c *check) sentinels() {
	switch slow := c.Slowness; {
	case slow == 0:
	case slow < 0:
		c.say("", "sentinels", Failure, "the client has no ReadTimeout, and never leaves a Sentinel that hangs: set "+
			"FailoverOptions.ReadTimeout to a second or less")
	case slow > longSlowness:
		c.say("", "sentinels", Warning, "a Sentinel that hangs is left after %v, twice the client's ReadTimeout; if "+
			"the primary fails at that time, a failover may be noticed so late: set FailoverOptions.ReadTimeout to a "+
			"second or less", rounded(slow))
	default:
		c.say("", "sentinels", OK, "a Sentinel that hangs is left after %v", rounded(slow))
	}
}

// nodes are the servers that keep locks, by address.
func (c *check) nodes(ctx context.Context) (all []*redis.Client, err error) {
	cluster, ok := c.Redis.(*redis.ClusterClient)
	if !ok {
		return []*redis.Client{c.Redis.(*redis.Client)}, nil
	}
	var mu sync.Mutex
	err = cluster.ForEachMaster(c.Within(ctx), func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, node)
		return nil
	})
	slices.SortFunc(all, func(a, b *redis.Client) int { return strings.Compare(a.Options().Addr, b.Options().Addr) })
	return all, err
}

// node looks at one server.
func (c *check) node(ctx context.Context, at string, node *redis.Client) {
	typical, longest, err := c.roundTrips(ctx, node)
	if err != nil {
		c.say(at, "connection", Failure, "the server does not answer, or refuses: %v", luacall.Explain(err))
		return
	}
	c.say(at, "connection", OK, "the server answers")
	c.lease(at, typical, longest)
	c.clock(ctx, at, node)
	c.scripts(ctx, at, node)
	c.clients(ctx, at, node)
	text, err := node.Info(c.Within(ctx)).Result()
	if err != nil {
		c.say(at, "info", Warning, "version, eviction, persistence and replicas are unknown, because INFO is refused "+
			"(%v): look them up where the server is configured", err)
		return
	}
	info := parse(text)
	c.version(at, info)
	c.eviction(at, info)
	c.persistence(ctx, at, node, info)
	c.replicas(ctx, at, node, info)
	c.cluster(at, info)
}

// parse reads the answer to INFO.
func parse(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	return info
}

const trips = 10

// roundTrips measures the time of a command: a typical one, and the longest of a few.
func (c *check) roundTrips(ctx context.Context, node *redis.Client) (typical, longest time.Duration, err error) {
	if err := node.Ping(c.Within(ctx)).Err(); err != nil { // which connects
		return 0, 0, err
	}
	took := make([]time.Duration, trips)
	for i := range took {
		began := time.Now()
		if err := node.Ping(c.Within(ctx)).Err(); err != nil {
			return 0, 0, err
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[trips/2], took[trips-1], nil
}

// lease judges whether renewals have time enough.
func (c *check) lease(at string, typical, longest time.Duration) {
	c.say(at, "round trip", OK, "%v typically, %v at most of %d", rounded(typical), rounded(longest), trips)
	switch {
	case longest > c.Limit/2:
		c.say(at, "lease", Failure, "a lease of %v gives a command %v, and a round trip took %v: set "+
			"ClientOptions.Lease "+
			"to %v at least", c.Lease, c.Limit, rounded(longest), (20*longest).Round(time.Second)+time.Second)
	case longest > c.Limit/10:
		c.say(at, "lease", Warning, "a lease of %v gives a command %v, and a round trip took %v: a slow moment "+
			"may cost a "+
			"hold; a longer ClientOptions.Lease is safer", c.Lease, c.Limit, rounded(longest))
	default:
		c.say(at, "lease", OK, "a lease of %v suits this round trip: a command may take %v, and a lost holder delays "+
			"others by a lease", c.Lease, c.Limit)
	}
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}

// clock compares the server's clock with the one here, twice.
func (c *check) clock(ctx context.Context, at string, node *redis.Client) {
	var skew [2]time.Duration
	var doubt time.Duration
	for i := range skew {
		began := time.Now()
		now, err := node.Time(c.Within(ctx)).Result()
		if err != nil {
			c.say(at, "clock", Failure, "TIME is refused, which every lock needs: %v", err)
			return
		}
		took := time.Since(began)
		skew[i], doubt = now.Sub(began.Add(took/2)), doubt+took
	}
	off := skew[0].Abs()
	switch {
	case (skew[1] - skew[0]).Abs() > 50*time.Millisecond+doubt:
		c.say(at, "clock", Warning, "the server's clock, or the one here, was set by %v just now: a step forward ends "+
			"leases early, one back keeps those of dead holders", rounded((skew[1] - skew[0]).Abs()))
	case off > time.Minute+doubt:
		c.say(at, "clock", Warning, "the server's clock and the one here differ by %v: locks do not mind, but "+
			"fencing tokens "+
			"come from the server's, and may fall if another server with a right clock replaces it",
			off.Round(time.Second))
	default:
		c.say(at, "clock", OK, "the server's clock and the one here differ by %v at most, which does no harm",
			rounded(off+doubt))
	}
}
