package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// redisGround are the servers of a run on Redis, and their admin clients.
type redisGround struct {
	t        testing.TB
	servers  []*redistest.Server // the servers that hold keys
	admins   []*redis.Client     // straight to each of them
	cluster  *redistest.ClusterLab
	sentinel *redistest.SentinelLab
}

// buildRedis starts the servers of a run on Redis, and makes the paths to them.
func (r *run) buildRedis(lab *lenient) ground {
	g := &redisGround{t: r.t}
	addr := ""
	switch r.cfg.Site {
	case Cluster:
		g.cluster = redistest.Cluster(lab, 3)
		addr = strings.Join(g.cluster.Addrs(), ",")
		for i := range g.cluster.Len() {
			g.servers = append(g.servers, g.cluster.Node(i))
		}
	case Sentinel:
		g.sentinel = redistest.Sentinel(lab)
		opts := g.sentinel.Options()
		addr = opts.MasterName + "," + strings.Join(opts.SentinelAddrs, ",")
		g.servers = g.sentinel.Servers()
		r.calm(g.sentinel, opts.MasterName)
	case Quorum:
		for range 5 {
			g.servers = append(g.servers, redistest.Start(lab))
		}
		addr = strings.Join(addrsOf(g.servers), ",")
	default:
		g.servers = []*redistest.Server{redistest.Start(lab)}
	}
	for _, s := range g.servers {
		admin := redis.NewClient(&redis.Options{Addr: s.Addr(), ReadTimeout: 30 * time.Second, MaxRetries: 3})
		r.t.Cleanup(func() { _ = admin.Close() })
		g.admins = append(g.admins, admin)
	}
	for _, s := range r.seats {
		s.addr = addr
		if r.cfg.Site == Single {
			s.proxy = faultproxy.Start(lab, g.servers[0].Addr())
			s.addr = s.proxy.Addr()
		}
	}
	if o := (orders{Addr: cmp.Or(addr, g.servers[0].Addr()), Site: r.cfg.Site, Forgets: r.cfg.Forgets}); o.takesAll() {
		if err := setCapacity(o); err != nil {
			r.fail(err)
		}
	}
	return g
}

func addrsOf(servers []*redistest.Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}

// calm keeps the Sentinels from considering a slow primary dead: an unprepared failover would forget what
// the replica has not received.
func (r *run) calm(lab *redistest.SentinelLab, primary string) {
	for _, s := range lab.Sentinels() {
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr()})
		err := rdb.Do(context.Background(), "sentinel", "set", primary, "down-after-milliseconds", 60_000).Err()
		if err := errors.Join(err, rdb.Close()); err != nil {
			r.fail(err)
		}
	}
}

// dialRedis makes the client with which a process of the run locks on Redis. Servers without a proxy accept connections
// only from the usual address, because they have no password.
func dialRedis(o orders) (lock.Provider, func() error, error) {
	return dialRedisFrom(o, dialFrom(o.Number))
}

func dialRedisFrom(o orders, dial dialer) (lock.Provider, func() error, error) {
	var rdb redis.UniversalClient
	switch addrs := strings.Split(o.Addr, ","); o.Site {
	case Single:
		rdb = redis.NewClient(&redis.Options{Addr: o.Addr, Dialer: dial})
	case Cluster:
		rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	case Sentinel:
		rdb = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: addrs[0], SentinelAddrs: addrs[1:]})
	default:
		return nil, nil, fmt.Errorf("unknown site %q", o.Site)
	}
	c, err := rlock.NewClient(rdb, o.options())
	return c, func() error { return errors.Join(c.Close(), rdb.Close()) }, err
}

func (o orders) options() *rlock.ClientOptions {
	return &rlock.ClientOptions{
		Lease: o.Lease, MaxPoll: o.Lease / 3, ReleaseTimeout: 2 * o.Lease, Logger: slog.New(slog.DiscardHandler),
	}
}

// dialQuorum makes the client of servers that are independent of one another.
func dialQuorum(o orders) (lock.Provider, func() error, error) {
	var nodes []redis.UniversalClient
	for addr := range strings.SplitSeq(o.Addr, ",") {
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	c, err := redlock.NewClient(nodes, &redlock.Options{ClientOptions: *o.options()})
	return c, func() error {
		errs := []error{c.Close()}
		for _, rdb := range nodes {
			errs = append(errs, rdb.Close())
		}
		return errors.Join(errs...)
	}, err
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// dialFrom gives every client its own address, so that connections can be attributed to clients. Only Linux
// has all of 127/8.
func dialFrom(number int) dialer {
	dialer := &net.Dialer{Timeout: time.Second}
	if runtime.GOOS == "linux" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(10+number))}
	}
	return dialer.DialContext
}

// held implements [ground]: only tokens are left if nothing is, and the semaphore with leases that have ended. Those
// are in its set until a caller needs their permits.
func (g *redisGround) held() (left []string, err error) {
	for i, s := range g.servers {
		left = append(left, Leftovers(s.Keys(g.t), func(key string) bool {
			if key != leasesKey {
				return isToken(key) || key == permitsName
			}
			live, failed := g.admins[i].ZCount(context.Background(), key,
				fmt.Sprint("(", time.Now().UnixMilli()), "+inf").Result()
			err = errors.Join(err, failed)
			return live == 0
		})...)
	}
	return left, err
}

// isToken reports whether a key is that of a fencing token, which outlives the holds of its name.
func isToken(key string) bool {
	name, is := strings.CutPrefix(key, "redisson_lock_token:{")
	return is && strings.HasPrefix(name, "history-")
}

// keys lists the keys of all servers.
func (g *redisGround) keys() (all []string) {
	for _, s := range g.servers {
		all = append(all, s.Keys(g.t)...)
	}
	return all
}

// listened implements [ground]. The Sentinels have a channel of their own.
func (g *redisGround) listened() (all []string, err error) {
	for _, s := range g.servers {
		for _, c := range s.PubSubChannels(g.t) {
			if c != "__sentinel__:hello" {
				all = append(all, c)
			}
		}
	}
	return all, nil
}

// connections implements [ground]. They are neither this run's own nor the servers' among themselves.
func (g *redisGround) connections() (others []string, err error) {
	ctx := context.Background()
	for _, admin := range g.admins {
		id, err := admin.ClientID(ctx).Result()
		list, listErr := admin.ClientList(ctx).Result()
		if err := errors.Join(err, listErr); err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			own := strings.HasPrefix(line, fmt.Sprintf("id=%d ", id))
			servers := strings.Contains(line, " name=sentinel-") || strings.Contains(line, " flags=S ") ||
				strings.Contains(line, " flags=M ")
			if !own && !servers {
				others = append(others, strings.TrimSpace(line))
			}
		}
	}
	return others, nil
}
