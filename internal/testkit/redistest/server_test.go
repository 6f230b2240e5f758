package redistest_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

const limit = 10 * time.Second

func TestStart(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
	require.Equal(t, []string{"k"}, server.Keys(t))
	major, _ := server.Version()
	require.GreaterOrEqual(t, major, 6)
	server.FlushAll(t)
	require.Empty(t, server.Keys(t))
}

func TestKillAndRestart(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.Set(t.Context(), "k", "v", 0).Err())
	server.Kill()
	bare := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer func() { require.NoError(t, bare.Close()) }()
	require.Error(t, bare.Ping(t.Context()).Err())
	server.Restart()
	require.NoError(t, bare.Ping(t.Context()).Err())
	require.Empty(t, server.Keys(t))
}

func TestRestartWithAppendOnlyFile(t *testing.T) {
	server := redistest.Start(t,
		redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	require.NoError(t, server.Client(t).Set(t.Context(), "k", "v", 0).Err())
	server.Kill()
	server.Restart()
	require.Equal(t, []string{"k"}, server.Keys(t))
}

func TestStopAndContinue(t *testing.T) {
	server := redistest.Start(t)
	opts := server.Options()
	opts.ContextTimeoutEnabled, opts.MaxRetries = true, -1
	rdb := redis.NewClient(opts)
	defer func() { require.NoError(t, rdb.Close()) }()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // time enough to send it
	defer cancel()
	require.Error(t, rdb.Incr(ctx, "n").Err())
	server.Continue()
	redistest.Eventually(t, limit, func() bool {
		return rdb.Get(t.Context(), "n").Val() == "1"
	}, "the command sent while the server stood still was not carried out")
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	first := redistest.Start(t)
	first.Kill()
	server := redistest.Start(t, redistest.WithPort(first.Port()), redistest.WithDir(dir),
		redistest.WithArgs("--maxmemory", "7mb"))
	require.Equal(t, first.Addr(), server.Addr())
	require.Equal(t, dir, server.Dir())
	got, err := server.Client(t).ConfigGet(t.Context(), "maxmemory").Result()
	require.NoError(t, err)
	require.Equal(t, "7340032", got["maxmemory"])
	server.Kill()
	require.DirExists(t, dir)
}

func TestCallsCountsCommandsOfScripts(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.Zero(t, server.Calls(t, "pexpire"))
	script := `redis.call('set', KEYS[1], 1) return redis.call('pexpire', KEYS[1], 9)`
	require.NoError(t, rdb.Eval(t.Context(), script, []string{"k"}).Err())
	require.EqualValues(t, 1, server.Calls(t, "pexpire"))
	require.EqualValues(t, 1, server.Calls(t, "EVAL"))
}

func TestMonitor(t *testing.T) {
	server := redistest.Start(t)
	monitor := server.Monitor(t)
	rdb := server.Client(t)
	require.NoError(t, rdb.Set(t.Context(), "some key", "v", 0).Err())
	redistest.Eventually(t, limit, func() bool {
		for _, line := range monitor.Lines() {
			if strings.Contains(line, `"set" "some key" "v"`) {
				return true
			}
		}
		return false
	}, "the command was not recorded")
}

func TestPubSubChannels(t *testing.T) {
	server := redistest.Start(t)
	rdb := server.Client(t)
	require.Empty(t, server.PubSubChannels(t))
	sub := rdb.Subscribe(t.Context(), "news")
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"news"}, server.PubSubChannels(t))
	require.NoError(t, sub.Close())
	redistest.Eventually(t, limit, func() bool { return len(server.PubSubChannels(t)) == 0 },
		"the channel is still subscribed")
}

func TestSharedIsOneServer(t *testing.T) {
	require.Same(t, redistest.Shared(t), redistest.Shared(t))
	require.NoError(t, redistest.Shared(t).Client(t).Ping(t.Context()).Err())
}

func TestServerLeavesNothingBehind(t *testing.T) {
	var dir, addr string
	t.Run("user", func(t *testing.T) {
		server := redistest.Start(t)
		dir, addr = server.Dir(), server.Addr()
		server.Stop() // a frozen server has to go as well
	})
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	bare := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { require.NoError(t, bare.Close()) }()
	require.Error(t, bare.Ping(t.Context()).Err())
}
