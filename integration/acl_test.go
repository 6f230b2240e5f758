package integration_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// aclKeys are the keys and channels of locks whose keys begin with "app:": the lock itself, its token,
// and the channel of its releases.
var aclKeys = []any{
	"~app:*", "~redisson_lock_token:{app:*", "&redisson_lock__channel:{app:*",
}

// aclCommands are all commands that locks on a single node send, or that their scripts call.
var aclCommands = []any{
	"+evalsha", "+eval", "+subscribe", "+unsubscribe",
	"+time", "+hgetall", "+hmget", "+hlen", "+hset", "+hdel",
	"+pexpire", "+pttl", "+persist", "+get", "+set", "+incr", "+publish", "+pubsub",
	"+info", // for a warning if Redis evicts keys; without it there is none
}

// aclUser makes a user with exactly these rights, and a client for it.
func aclUser(t *testing.T, server *redistest.Server, rules ...any) *redis.Client {
	t.Helper()
	args := append([]any{"ACL", "SETUSER", "locks", "reset", "on", ">secret"}, rules...)
	require.NoError(t, server.Client(t).Do(context.Background(), args...).Err())
	opts := server.Options()
	opts.Username, opts.Password = "locks", "secret"
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// aclDenied is what the server refused, by its own log.
func aclDenied(t *testing.T, server *redistest.Server) (denied []string) {
	t.Helper()
	entries, err := server.Client(t).Do(context.Background(), "ACL", "LOG").Slice()
	require.NoError(t, err)
	for _, entry := range entries {
		switch fields := entry.(type) {
		case map[any]any:
			denied = append(denied, fields["object"].(string))
		case []any:
			for i := 0; i+1 < len(fields); i += 2 {
				if fields[i] == "object" {
					denied = append(denied, fields[i+1].(string))
				}
			}
		}
	}
	return denied
}

// Need 20: an application whose user may only use its own keys, and only call what locks need: everything
// that a lock can do works, and the server refused nothing. Nor does the list contain an unused right.
func TestAUserWithNoMoreRightsThanLocksNeed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := aclUser(t, server, append(append([]any{}, aclKeys...), aclCommands...)...)
	life(t, rdb, "app:life")

	opts := rlock.ClientOptions{KeyName: func(name string) string { return "app:" + name }, FenceTTL: -1}
	client, _ := newClient(t, rdb, opts)
	other, _ := newClient(t, rdb, opts)
	here, there := rlock.New(client, "job"), rlock.New(other, "job")
	// A token ahead of the server's clock, with an expiry, takes two commands more than one that is not.
	ahead := time.Now().Add(time.Hour).UnixMicro()
	token := "redisson_lock_token:{app:job}"
	require.NoError(t, server.Client(t).Set(context.Background(), token, ahead, time.Hour).Err())
	ctx, _ := held(t, here)
	info, err := there.Inspect(within(t))
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	passport, err := here.Export(ctx)
	require.NoError(t, err)
	_, unlock, err := there.Import(within(t), passport)
	require.NoError(t, err)
	require.NoError(t, here.Break(within(t)))
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.False(t, exists(t, server, "app:job"))

	redistest.Eventually(t, limit, func() bool { return len(server.PubSubChannels(t)) == 0 },
		"a channel that nobody waits on stays subscribed")
	require.Empty(t, aclDenied(t, server))
	called := strings.Join(slices.Collect(maps.Keys(server.Info(t, "commandstats"))), " ") + " "
	for _, command := range aclCommands {
		name := "cmdstat_" + strings.TrimPrefix(command.(string), "+")
		require.True(t, strings.Contains(called, name+" ") || strings.Contains(called, name+"|"),
			"%s is not needed", command)
	}
}

// The page for operators shows these rights and no others, so that what is proved here is what people copy.
func TestTheOperatorsPageShowsTheRights(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "ACL SETUSER locks on >secret ")
	require.True(t, found)
	shown, _, found := strings.Cut(after, "```")
	require.True(t, found)
	var want []string
	for _, right := range slices.Concat(aclKeys, aclCommands) {
		if right != "+info" { // is optional, and the page says so
			want = append(want, right.(string))
		}
	}
	require.ElementsMatch(t, want, strings.Fields(shown))
}

// The control: the server's log shows a missing right, even where the lock works without it.
func TestALackingRightShowsInTheServersLog(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := aclUser(t, server, append(append([]any{}, aclKeys[:2]...), aclCommands...)...) // no channel
	client, _ := newClient(t, rdb, rlock.ClientOptions{})
	_, unlock := held(t, rlock.New(client, "app:quiet"))
	require.NoError(t, unlock())
	require.Contains(t, aclDenied(t, server), "redisson_lock__channel:{app:quiet}")
}
