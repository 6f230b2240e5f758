package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// ground is the site of a run: its servers and their admin clients.
type ground struct {
	servers  []*redistest.Server // the servers that hold keys
	admins   []*redis.Client     // straight to each of them
	cluster  *redistest.ClusterLab
	sentinel *redistest.SentinelLab
}

// build starts the servers of a run, and the seats of its clients.
func (r *run) build(lab *lenient) {
	addr := ""
	switch r.cfg.Site {
	case Cluster:
		r.cluster = redistest.Cluster(lab, 3)
		addr = strings.Join(r.cluster.Addrs(), ",")
		for i := range r.cluster.Len() {
			r.servers = append(r.servers, r.cluster.Node(i))
		}
	case Sentinel:
		r.sentinel = redistest.Sentinel(lab)
		opts := r.sentinel.Options()
		addr = opts.MasterName + "," + strings.Join(opts.SentinelAddrs, ",")
		r.servers = r.sentinel.Servers()
		r.calm(opts.MasterName)
	default:
		r.servers = []*redistest.Server{redistest.Start(lab)}
	}
	for _, s := range r.servers {
		admin := redis.NewClient(&redis.Options{Addr: s.Addr(), ReadTimeout: 30 * time.Second, MaxRetries: 3})
		r.t.Cleanup(func() { _ = admin.Close() })
		r.admins = append(r.admins, admin)
	}
	for i := range r.cfg.Clients {
		s := &seat{number: i, addr: addr}
		if r.cfg.Site == Single {
			s.proxy = faultproxy.Start(lab, r.servers[0].Addr())
			s.addr = s.proxy.Addr()
		}
		r.seats = append(r.seats, s)
	}
}

// calm keeps the Sentinels from considering a slow primary dead: an unprepared failover would forget what
// the replica has not received.
func (r *run) calm(primary string) {
	for _, s := range r.sentinel.Sentinels() {
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr()})
		err := rdb.Do(context.Background(), "sentinel", "set", primary, "down-after-milliseconds", 60_000).Err()
		if err := errors.Join(err, rdb.Close()); err != nil {
			r.fail(err)
		}
	}
}

// dial makes the client with which a process of the run locks. Servers without a proxy accept connections
// only from the usual address, because they have no password.
func dial(site Site, addr string, number int) (redis.UniversalClient, error) {
	addrs := strings.Split(addr, ",")
	switch site {
	case Single:
		return redis.NewClient(&redis.Options{Addr: addr, Dialer: dialFrom(number)}), nil
	case Cluster:
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs}), nil
	case Sentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: addrs[0], SentinelAddrs: addrs[1:]}), nil
	}
	return nil, fmt.Errorf("unknown site %q", site)
}

// keys lists the keys of all servers.
func (r *run) keys() (all []string) {
	for _, s := range r.servers {
		all = append(all, s.Keys(r.t)...)
	}
	return all
}

// channels lists the channels that have subscribers besides the Sentinels.
func (r *run) channels() (all []string) {
	for _, s := range r.servers {
		for _, c := range s.PubSubChannels(r.t) {
			if c != "__sentinel__:hello" {
				all = append(all, c)
			}
		}
	}
	return all
}

// connections lists those connections that are neither this run's own nor the servers' among themselves.
func (r *run) connections() (others []string, err error) {
	ctx := context.Background()
	for _, admin := range r.admins {
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
