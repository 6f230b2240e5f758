package integration_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// aclSite is where lives are lived.
type aclSite struct {
	servers []*redistest.Server
	connect func(user string) []redis.UniversalClient
}

var aclLong = redistest.WithArgs("--acllog-max-len", "100000") // a server forgets no refusal

// aclServers are some single servers.
func aclServers(t *testing.T, n int, opts ...redistest.Option) *aclSite {
	site := &aclSite{}
	for range n {
		site.servers = append(site.servers, redistest.Start(t, append(opts, aclLong)...))
	}
	site.connect = func(user string) (all []redis.UniversalClient) {
		for _, server := range site.servers {
			all = append(all, redis.NewClient(&redis.Options{
				Addr: server.Addr(), Username: user, Password: "secret", DisableIdentity: true, MaxRetries: -1,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			}))
		}
		return all
	}
	return site
}

func aclSingle(t *testing.T) *aclSite { return aclServers(t, 1) }

// aclReplicated is a server with a replica.
func aclReplicated(t *testing.T) *aclSite {
	site := aclSingle(t)
	redistest.Replica(t, site.servers[0])
	conn := site.servers[0].Client(t).Conn() // WAIT is about the writes of its connection
	defer func() { _ = conn.Close() }()
	redistest.Eventually(t, limit, func() bool {
		require.NoError(t, conn.Set(context.Background(), "any", 1, 0).Err())
		confirmed, err := conn.Wait(context.Background(), 1, time.Second).Result()
		return err == nil && confirmed == 1
	}, "the replica confirms nothing")
	return site
}

// aclSyncing is a server that says what is on its disk.
func aclSyncing(t *testing.T) *aclSite {
	return aclServers(t, 1, redistest.AtLeast(t, 7, 2), onDisk)
}

// aclIndependent are servers that are up for long enough to have a vote.
func aclIndependent(t *testing.T) *aclSite {
	site := aclServers(t, 3)
	for _, server := range site.servers {
		redistest.Eventually(t, limit, func() bool {
			up, err := strconv.Atoi(server.Info(t, "server")["uptime_in_seconds"])
			return err == nil && up > int(aclLease/time.Second)+1
		}, "the server is not up for as long as the restart guard")
	}
	return site
}

// aclSentinels are a primary and a replica that Sentinels watch.
func aclSentinels(t *testing.T) *aclSite {
	lab := redistest.Sentinel(t, aclLong)
	return &aclSite{servers: lab.Servers(), connect: func(user string) []redis.UniversalClient {
		opts := lab.Options()
		opts.Username, opts.Password, opts.DisableIdentity, opts.MaxRetries = user, "secret", true, -1
		return []redis.UniversalClient{redis.NewFailoverClient(opts)}
	}}
}

// aclPersistent is a server that keeps a log.
func aclPersistent(t *testing.T) *aclSite {
	return aclServers(t, 1, redistest.WithArgs("--appendonly", "yes"))
}

// aclClustered is a cluster.
func aclClustered(t *testing.T) *aclSite {
	lab := redistest.Cluster(t, 2, aclLong)
	return &aclSite{
		servers: []*redistest.Server{lab.Node(0), lab.Node(1)},
		connect: func(user string) []redis.UniversalClient {
			return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: lab.Addrs(), Username: user, Password: "secret", DisableIdentity: true, MaxRetries: -1,
			})}
		},
	}
}

// known drops the rights to commands that the servers do not have: a page for all servers may list them.
func (s *aclSite) known(t *testing.T, rules []string) []string {
	t.Helper()
	admin := s.servers[0].Client(t)
	return slices.DeleteFunc(slices.Clone(rules), func(rule string) bool {
		name, command := strings.CutPrefix(rule, "+")
		if !command || strings.HasPrefix(name, "@") {
			return false
		}
		name, _, _ = strings.Cut(name, "|")
		infos, err := admin.Do(context.Background(), "COMMAND", "INFO", name).Slice()
		require.NoError(t, err)
		return infos[0] == nil
	})
}

// forget has the servers forget all scripts.
func (s *aclSite) forget(t *testing.T) {
	t.Helper()
	for _, server := range s.servers {
		require.NoError(t, server.Client(t).ScriptFlush(context.Background()).Err())
	}
}
