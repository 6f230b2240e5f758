package rlock_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// checked is what Check finds, by name; of several servers it is the worst.
func checked(t *testing.T, client *rlock.Client, name string) map[string]rlock.Finding {
	t.Helper()
	all := make(map[string]rlock.Finding)
	for _, f := range client.Check(conductCtx(t), name) {
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
	all := checked(t, listClient(t, server.Client(t), nil), "")
	for _, name := range []string{"connection", "round trip", "lease", "clock", "version", "eviction", "persistence",
		"replicas", "cluster", "rights", "messages", "trial"} {
		require.Contains(t, all, name)
		assert.Equal(t, rlock.LevelOK, all[name].Level, all[name])
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
	for timeout, want := range map[time.Duration]rlock.Finding{
		0:                      {Level: rlock.LevelWarning, Text: "10s"},
		-1:                     {Level: rlock.LevelFailure, Text: "never"},
		500 * time.Millisecond: {Level: rlock.LevelOK, Text: "1s"},
	} {
		o := lab.Options()
		o.ReadTimeout = timeout
		rdb := redis.NewFailoverClient(o)
		found := checked(t, listClient(t, rdb, nil), "")["sentinels"]
		assert.Equal(t, want.Level, found.Level, found.Text)
		assert.Contains(t, found.Text, want.Text)
		require.NoError(t, rdb.Close())
	}
}

// Each thing that is wrong is found under its name.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args  []string
		user  []any // rules of the user, if not the default one
		opts  *rlock.ClientOptions
		finds string
		level rlock.Level
		says  string
	}{
		"evicts":           {args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}, finds: "eviction", level: rlock.LevelFailure, says: "noeviction"},
		"would evict":      {args: []string{"--maxmemory-policy", "allkeys-lru"}, finds: "eviction", level: rlock.LevelWarning, says: "noeviction"},
		"forgets":          {args: []string{"--appendonly", "no"}, finds: "persistence", level: rlock.LevelWarning, says: "restart"},
		"no fsync":         {args: []string{"--appendonly", "yes", "--appendfsync", "no"}, finds: "persistence", level: rlock.LevelWarning, says: "appendfsync"},
		"no replicas":      {opts: &rlock.ClientOptions{MinReplicas: 1}, finds: "replicas", level: rlock.LevelFailure, says: "0 of 1"},
		"no messages":      {user: []any{"-publish"}, finds: "messages", level: rlock.LevelWarning, says: "MaxPoll"},
		"a right":          {user: []any{"-hset"}, finds: "rights", level: rlock.LevelFailure, says: "HSET"},
		"the trial":        {user: []any{"-hset"}, finds: "trial", level: rlock.LevelFailure, says: "HSET"},
		"other keys":       {user: []any{"resetkeys", "~other:*"}, finds: "trial", level: rlock.LevelFailure, says: "keys"},
		"no INFO":          {user: []any{"-info"}, finds: "info", level: rlock.LevelWarning, says: "refused"},
		"no CONFIG":        {args: []string{"--appendonly", "yes"}, user: []any{"-config"}, finds: "persistence", level: rlock.LevelOK, says: "CONFIG is refused"},
		"no ACL":           {user: []any{"-acl"}, finds: "rights", level: rlock.LevelOK, says: "trial"},
		"no way to delete": {user: []any{"-del"}, finds: "trial", level: rlock.LevelOK, says: "expires"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.WithArgs(test.args...))
			rdb := server.Client(t)
			if test.user != nil {
				rdb = redis.NewClient(deniedUser(t, server, test.user...))
				t.Cleanup(func() { _ = rdb.Close() })
			}
			found := checked(t, listClient(t, rdb, test.opts), "")[test.finds]
			if major, _ := server.Version(); major < 7 && test.finds == "rights" {
				test.level, test.says = rlock.LevelOK, "trial" // ACL DRYRUN is new in Redis 7
			}
			assert.Equal(t, test.level, found.Level, found)
			assert.Contains(t, found.Text, test.says)
		})
	}
}

func TestCheckOfACluster(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 3)
	findings := listClient(t, lab.Client(t), nil).Check(conductCtx(t), "")
	versions := 0
	for _, f := range findings {
		assert.NotEqual(t, rlock.LevelFailure, f.Level, f)
		if f.Name == "version" {
			versions++
			assert.NotEmpty(t, f.Server)
		}
	}
	assert.Equal(t, 3, versions)
	plain := checked(t, listClient(t, lab.Node(0).Client(t), nil), "{a}")
	assert.Equal(t, rlock.LevelWarning, plain["cluster"].Level)
}

func TestCheckOfAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	all := checked(t, listClient(t, rdb, &rlock.ClientOptions{Lease: time.Second}), "")
	require.Len(t, all, 1)
	assert.Equal(t, rlock.LevelFailure, all["connection"].Level)
	bad := new(rlock.Client).Check(context.Background(), "")
	require.Len(t, bad, 1)
	assert.Equal(t, rlock.LevelFailure, bad[0].Level)
}
