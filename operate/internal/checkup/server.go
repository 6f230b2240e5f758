package checkup

import (
	"context"
	"fmt"
	"regexp"
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

// scripts judges whether the server runs scripts. A user that may not is told of by its rights and by the trial lock.
func (c *check) scripts(ctx context.Context, at string, node *redis.Client) {
	const script, digest = "return 1", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"
	err := node.Eval(c.Within(ctx), script, nil).Err()
	if err == nil {
		err = node.EvalSha(c.Within(ctx), digest, nil).Err()
	}
	switch {
	case err == nil, redis.HasErrorPrefix(err, "NOSCRIPT"): // behind a proxy another server may be asked
		c.say(at, "scripts", OK, "the server runs scripts, in which all requests of locks are sent")
	case !redis.IsPermissionError(err):
		c.say(at, "scripts", Failure, "the server runs no scripts (%v), in which all requests of locks are sent: "+
			"load its Lua engine, which is a module of Valkey from 9.1 on, enable EVAL and EVALSHA, or use another "+
			"server", err)
	}
}

// spared is what CLIENT INFO says of a connection that the server does not evict.
var spared = regexp.MustCompile(`(^| )flags=[A-Za-z]*e`)

// clients judges whether the server may evict the connections of locks. The setting is new in Redis 7.
func (c *check) clients(ctx context.Context, at string, node *redis.Client) {
	told, _ := node.Do(c.Within(ctx), "client", "info").Text()
	config, err := node.ConfigGet(c.Within(ctx), "maxmemory-clients").Result()
	switch limit := config["maxmemory-clients"]; {
	case err != nil:
		c.say(at, "clients", OK, "whether the server evicts clients is unknown, because CONFIG is refused: "+
			"maxmemory-clients should be 0")
	case limit == "" || limit == "0":
		c.say(at, "clients", OK, "the server evicts none")
	case spared.MatchString(told):
		c.say(at, "clients", OK, "maxmemory-clients is %s, but the server does not evict these connections, for which "+
			"CLIENT NO-EVICT is on", limit)
	default:
		c.say(at, "clients", Warning, "maxmemory-clients is %s: when clients use more memory, the server closes "+
			"connections, and a client of locks loses its subscriptions and the requests under way: set it to 0, or "+
			"have OnConnect of the Redis client send CLIENT NO-EVICT ON, as the connections of locks then do too",
			limit)
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
	online := replicasOnline(info)
	var got int64
	var err error
	switch {
	case c.Fsync:
		if got, err = c.fsync(ctx, at, node); err != nil {
			return // nothing is confirmed, which is said
		}
	case c.MinReplicas > 0:
		got, err = node.Wait(c.Within(ctx), c.MinReplicas, c.Limit/2).Result()
	}
	switch {
	case err != nil:
		c.say(at, "replicas", Failure, "WAIT is refused, which ClientOptions.MinReplicas needs: %v", err)
	case int(got) < c.MinReplicas:
		c.say(at, "replicas", Failure, "%d of %d replicas that ClientOptions.MinReplicas asks for confirmed: no "+
			"lock can be taken: start replicas, or lower MinReplicas", got, c.MinReplicas)
	case online > c.MinReplicas:
		c.say(at, "replicas", Warning, "%d online, and ClientOptions.MinReplicas is %d: a failover may promote "+
			"one that has not confirmed the last locks, and then two clients hold one: set MinReplicas to the number "+
			"of replicas that can be promoted (those with replica-priority 0 cannot), unless the service keeps every "+
			"write that it has acknowledged; docs/operations.md has the price", online, c.MinReplicas)
	case c.MinReplicas == 0:
		c.say(at, "replicas", OK, "none online, so none can be promoted that lacks the last locks")
	default:
		c.say(at, "replicas", OK, "%d confirmed, and ClientOptions.MinReplicas asks for %d", got, c.MinReplicas)
	}
}

// replicasOnline is how many replicas receive what is written.
func replicasOnline(info map[string]string) (online int) {
	count, _ := strconv.Atoi(info["connected_slaves"])
	for i := range count {
		if strings.Contains(info["slave"+strconv.Itoa(i)], "state=online") {
			online++
		}
	}
	return online
}

// fsync judges whether the server can say what is on its disk, and returns how many replicas can. Nothing is written
// for that: how long it takes, and whether the replicas have an append-only file, the trial lock shows.
func (c *check) fsync(ctx context.Context, at string, node *redis.Client) (replicas int64, err error) {
	got, err := node.WaitAOF(c.Within(ctx), 1, c.MinReplicas, c.Limit/2).Result()
	if err == nil && len(got) != 2 {
		err = fmt.Errorf("it was answered with %d numbers instead of two", len(got))
	}
	if err != nil {
		c.say(at, "fsync", Failure, "WAITAOF is refused, which ClientOptions.Fsync needs (%v): no lock can be taken: "+
			"use Redis 7.2 or newer, or Valkey, with appendonly yes, and grant +waitaof; or turn Fsync off", err)
		return 0, err
	}
	c.say(at, "fsync", OK, "WAITAOF tells what is on disk, as ClientOptions.Fsync needs it; how long that takes, the "+
		"trial lock shows")
	return got[1], nil
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
