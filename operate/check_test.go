package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// checked is what Check finds, by name; of several servers it is the worst.
func checked(t *testing.T, client *rlock.Client, name string) map[string]lock.Finding {
	t.Helper()
	all := make(map[string]lock.Finding)
	for _, f := range operate.Check(within(t), client, name) {
		require.NotEmpty(t, f.Text, f.Name)
		if before, known := all[f.Name]; !known || before.Level < f.Level {
			all[f.Name] = f
		}
	}
	return all
}

func TestCheckFindsNothingWrongAndLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "100mb"))
	all := checked(t, clientOn(t, server.Client(t), nil), "")
	for _, name := range []string{"connection", "round trip", "lease", "clock", "scripts", "clients", "version", "eviction",
		"persistence", "replicas", "cluster", "rights", "messages", "wants", "trial"} {
		require.Contains(t, all, name)
		assert.Equal(t, lock.LevelOK, all[name].Level, all[name])
	}
	assert.Empty(t, server.Keys(t))
	text, err := json.Marshal(all["rights"])
	require.NoError(t, err)
	assert.Contains(t, string(text), `"Level":"ok"`)
}

// defect F2: go-redis leaves a Sentinel that hangs after twice the client's ReadTimeout, five seconds by default.
func TestCheckTellsHowLongASentinelIsWaitedFor(t *testing.T) {
	t.Parallel()
	lab := redistest.Sentinel(t)
	for timeout, want := range map[time.Duration]lock.Finding{
		0:                      {Level: lock.LevelWarning, Text: "10s"},
		-1:                     {Level: lock.LevelFailure, Text: "never"},
		500 * time.Millisecond: {Level: lock.LevelOK, Text: "1s"},
	} {
		o := lab.Options()
		o.ReadTimeout = timeout
		rdb := redis.NewFailoverClient(o)
		found := checked(t, clientOn(t, rdb, nil), "")["sentinels"]
		assert.Equal(t, want.Level, found.Level, found.Text)
		assert.Contains(t, found.Text, want.Text)
		require.NoError(t, rdb.Close())
	}
}

// Each thing that is wrong is found under its name, a server that evicts locks (defect D8) among them, and so are commands
// that are renamed away or refused (defects G35, G69).
func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		user  []any // rules of the user, if not the default one
		opts  *rlock.ClientOptions
		finds string
		level lock.Level
		says  string
	}{
		"evicts":           {args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, finds: "eviction", level: lock.LevelFailure, says: "noeviction"},
		"would evict":      {args: []string{"--maxmemory-policy", "allkeys-lru"}, finds: "eviction", level: lock.LevelWarning, says: "noeviction"},
		"forgets":          {args: []string{"--appendonly", "no"}, finds: "persistence", level: lock.LevelWarning, says: "restart"},
		"no fsync":         {args: []string{"--appendonly", "yes", "--appendfsync", "no"}, finds: "persistence", level: lock.LevelWarning, says: "appendfsync"},
		"no replicas":      {opts: &rlock.ClientOptions{MinReplicas: 1}, finds: "replicas", level: lock.LevelFailure, says: "0 of 1"},
		"no scripts":       {args: []string{"--rename-command", "EVAL", ""}, finds: "scripts", level: lock.LevelFailure, says: "Lua engine"},
		"no right to EVAL": {user: []any{"-eval"}, finds: "rights", level: lock.LevelFailure, says: "EVAL"},
		"unknown clients":  {user: []any{"-config"}, finds: "clients", level: lock.LevelOK, says: "CONFIG is refused"},
		"no digests":       {args: []string{"--rename-command", "EVALSHA", ""}, finds: "scripts", level: lock.LevelFailure, says: "unknown command"},
		"no ear":           {user: []any{"-subscribe"}, finds: "messages", level: lock.LevelWarning, says: "SUBSCRIBE does not work"},
		"a mute server":    {args: []string{"--rename-command", "PUBLISH", ""}, finds: "wants", level: lock.LevelWarning, says: "PUBLISH (ERR unknown command"},
		"no messages":      {user: []any{"-publish"}, finds: "messages", level: lock.LevelWarning, says: "MaxPoll"},
		"no ears":          {user: []any{"resetchannels", "&redisson_lock__channel:*"}, finds: "wants", level: lock.LevelWarning, says: "&holdfast_wanted:*"},
		"no one to tell":   {user: []any{"-publish"}, finds: "wants", level: lock.LevelWarning, says: "Keep"},
		"a right":          {user: []any{"-hset"}, finds: "rights", level: lock.LevelFailure, says: "HSET"},
		"the trial":        {user: []any{"-hset"}, finds: "trial", level: lock.LevelFailure, says: "HSET"},
		"other keys":       {user: []any{"resetkeys", "~other:*"}, finds: "trial", level: lock.LevelFailure, says: "keys"},
		"no INFO":          {user: []any{"-info"}, finds: "info", level: lock.LevelWarning, says: "refused"},
		"no CONFIG":        {args: []string{"--appendonly", "yes"}, user: []any{"-config"}, finds: "persistence", level: lock.LevelOK, says: "CONFIG is refused"},
		"no ACL":           {user: []any{"-acl"}, finds: "rights", level: lock.LevelOK, says: "trial"},
		"no way to delete": {user: []any{"-del"}, finds: "trial", level: lock.LevelOK, says: "expires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.WithArgs(test.args...))
			rdb := server.Client(t)
			if test.user != nil {
				rdb = redis.NewClient(userOf(t, server, test.user...))
				t.Cleanup(func() { _ = rdb.Close() })
			}
			found := checked(t, clientOn(t, rdb, test.opts), "")[test.finds]
			if major, _ := server.Version(); major < 7 && test.finds == "rights" {
				test.level, test.says = lock.LevelOK, "trial" // ACL DRYRUN is new in Redis 7
			}
			assert.Equal(t, test.level, found.Level, found)
			assert.Contains(t, found.Text, test.says)
		})
	}
}

// Replicas that can be promoted, and do not confirm, are what a failover loses locks by.
func TestCheckComparesMinReplicasWithTheReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	find := func(least int) lock.Finding {
		return checked(t, clientOn(t, server.Client(t), &rlock.ClientOptions{MinReplicas: least}), "")["replicas"]
	}
	found := find(0)
	assert.Equal(t, lock.LevelOK, found.Level, found)
	redistest.Replica(t, server)
	online(t, server, 1)
	found = find(0)
	assert.Equal(t, lock.LevelWarning, found.Level, found)
	assert.Contains(t, found.Text, "1 online, and ClientOptions.MinReplicas is 0")
	found = find(1)
	assert.Equal(t, lock.LevelOK, found.Level, found)
	redistest.Replica(t, server)
	online(t, server, 2)
	found = find(1)
	assert.Equal(t, lock.LevelWarning, found.Level, found)
	assert.Contains(t, found.Text, "2 online, and ClientOptions.MinReplicas is 1")
	found = find(2)
	assert.Equal(t, lock.LevelOK, found.Level, found)
}

// online waits until the primary counts so many replicas, which it does some time after they consider themselves up to
// date.
func online(t *testing.T, primary *redistest.Server, n int) {
	t.Helper()
	redistest.Eventually(t, time.Minute, func() bool {
		info := primary.Info(t, "replication")
		return strings.Contains(info[fmt.Sprint("slave", n-1)], "state=online")
	}, "the replica is not online")
}

// A server that may close connections of clients is found, unless the client has asked to be spared.
func TestCheckOfAServerThatEvictsClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	major, _ := server.Version()
	if major >= 7 { // an older one has no such setting
		require.NoError(t, server.Client(t).ConfigSet(t.Context(), "maxmemory-clients", "100mb").Err())
	}
	found := checked(t, clientOn(t, server.Client(t), nil), "")["clients"]
	if major < 7 {
		assert.Equal(t, lock.LevelOK, found.Level, found)
		return
	}
	assert.Equal(t, lock.LevelWarning, found.Level, found)
	assert.Contains(t, found.Text, "CLIENT NO-EVICT ON")
	spared := server.Options()
	spared.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
		return conn.Do(ctx, "CLIENT", "NO-EVICT", "ON").Err()
	}
	rdb := redis.NewClient(spared)
	t.Cleanup(func() { _ = rdb.Close() })
	found = checked(t, clientOn(t, rdb, nil), "")["clients"]
	assert.Equal(t, lock.LevelOK, found.Level, found)
	assert.Contains(t, found.Text, "104857600")
}

// Fsync is checked where it is asked for, and only there.
func TestCheckOfFsync(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t) // has no append-only file, and Redis before 7.2 no WAITAOF
	none := checked(t, clientOn(t, server.Client(t), nil), "")
	assert.NotContains(t, none, "fsync")
	found := checked(t, clientOn(t, server.Client(t), &rlock.ClientOptions{Fsync: true}), "")
	assert.Equal(t, lock.LevelFailure, found["fsync"].Level, found["fsync"])
	assert.Contains(t, found["fsync"].Text, "appendonly yes")
	assert.Equal(t, lock.LevelFailure, found["trial"].Level, found["trial"])
	assert.Contains(t, found["trial"].Text, "ClientOptions.Fsync needs WAITAOF")
}

func TestCheckOfACluster(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 3)
	findings := operate.Check(within(t), clientOn(t, lab.Client(t), nil), "")
	versions := 0
	for _, f := range findings {
		assert.NotEqual(t, lock.LevelFailure, f.Level, f)
		if f.Name == "version" {
			versions++
			assert.NotEmpty(t, f.Server)
		}
	}
	assert.Equal(t, 3, versions)
	plain := checked(t, clientOn(t, lab.Node(0).Client(t), nil), "{a}")
	assert.Equal(t, lock.LevelWarning, plain["cluster"].Level)
}

func TestCheckOfAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	all := checked(t, clientOn(t, rdb, &rlock.ClientOptions{Lease: time.Second}), "")
	require.Len(t, all, 1)
	assert.Equal(t, lock.LevelFailure, all["connection"].Level)
	bad := operate.Check(context.Background(), new(rlock.Client), "")
	require.Len(t, bad, 1)
	assert.Equal(t, lock.LevelFailure, bad[0].Level)
}
