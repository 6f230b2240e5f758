package checkup

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// version judges the server's version. Valkey tells its own beside the Redis version that it stands for.
func (c *check) version(at string, info map[string]string) {
	name, version := "Redis", info["redis_version"]
	if valkey := info["valkey_version"]; valkey != "" {
		name, version = "Valkey", valkey
	}
	parts := strings.Split(info["redis_version"], ".")
	major, err := strconv.Atoi(parts[0])
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	switch {
	case err != nil:
		c.say(at, "version", Warning, "the server does not tell its version; holdfast needs Redis 6.2 or newer, "+
			"or Valkey")
	case major < 6 || major == 6 && minor < 2:
		c.say(at, "version", Failure, "%s %s is too old: holdfast needs Redis 6.2 or newer, or Valkey", name, version)
	default:
		c.say(at, "version", OK, "%s %s", name, version)
	}
}

func (c *check) eviction(at string, info map[string]string) {
	policy, limited := info["maxmemory_policy"], info["maxmemory"] != "" && info["maxmemory"] != "0"
	switch {
	case policy == "":
		c.say(at, "eviction", Warning, "the server does not tell its maxmemory-policy: it must be noeviction "+
			"where locks live")
	case policy == "noeviction":
		c.say(at, "eviction", OK, "maxmemory-policy is noeviction: no lock is evicted")
	case limited:
		c.say(at, "eviction", Failure, "maxmemory-policy is %s: when memory is full locks are evicted, and two "+
			"clients may "+
			"hold one: set it to noeviction", policy)
	default:
		c.say(at, "eviction", Warning, "maxmemory-policy is %s, without a maxmemory: nothing is evicted until one "+
			"is set; "+
			"set the policy to noeviction", policy)
	}
}

// persistence judges what a restart forgets. How often the log reaches the disk is a setting, which managed servers do
// not show.
func (c *check) persistence(ctx context.Context, at string, node *redis.Client, info map[string]string) {
	switch info["aof_enabled"] {
	case "":
		c.say(at, "persistence", Warning, "the server does not tell whether it persists")
		return
	case "0":
		c.say(at, "persistence", Warning, "appendonly is off: a restart forgets locks, and another client may "+
			"take one "+
			"before its holder learns of that; turn it on, or check fencing tokens")
		return
	}
	config, err := node.ConfigGet(c.Within(ctx), "appendfsync").Result()
	fsync := config["appendfsync"]
	switch {
	case err != nil:
		c.say(at, "persistence", OK, "appendonly is on; how often it reaches the disk is unknown, because CONFIG "+
			"is refused")
	case fsync == "always":
		c.say(at, "persistence", OK, "appendonly is on, with appendfsync always: a restart forgets nothing")
	case fsync == "no":
		c.say(at, "persistence", Warning, "appendfsync is no: a machine that stops forgets the last seconds; set "+
			"it to "+
			"everysec or always")
	default:
		c.say(at, "persistence", OK, "appendonly is on, with appendfsync %s: a machine that stops may forget the "+
			"locks of "+
			"the last second", fsync)
	}
}

func (c *check) replicas(ctx context.Context, at string, node *redis.Client, info map[string]string) {
	if role := info["role"]; role != "" && role != "master" {
		c.say(at, "replicas", Failure, "the server is a replica, where no lock can be taken: connect to the "+
			"primary, by "+
			"Sentinel or as a cluster")
		return
	}
	count, _ := strconv.Atoi(info["connected_slaves"])
	if c.MinReplicas == 0 {
		c.say(at, "replicas", OK, "%d; a failover may lose the last locks, because replication is asynchronous: see "+
			"ClientOptions.MinReplicas", count)
		return
	}
	got, err := node.Wait(c.Within(ctx), c.MinReplicas, c.Limit/2).Result()
	switch {
	case err != nil:
		c.say(at, "replicas", Failure, "WAIT is refused, which ClientOptions.MinReplicas needs: %v", err)
	case int(got) < c.MinReplicas:
		c.say(at, "replicas", Failure, "%d of %d replicas that ClientOptions.MinReplicas asks for confirmed: no "+
			"lock can be "+
			"taken", got, c.MinReplicas)
	default:
		c.say(at, "replicas", OK, "%d confirmed, and ClientOptions.MinReplicas asks for %d", got, c.MinReplicas)
	}
}

func (c *check) cluster(at string, info map[string]string) {
	_, ours := c.Redis.(*redis.ClusterClient)
	switch enabled := info["cluster_enabled"] == "1"; {
	case enabled && !ours:
		c.say(at, "cluster", Warning, "the server is a member of a cluster, and the client is not a "+
			"*redis.ClusterClient: "+
			"names that belong to other members are refused")
	case enabled:
		c.say(at, "cluster", OK, "a member of a cluster")
	default:
		c.say(at, "cluster", OK, "no cluster")
	}
}
