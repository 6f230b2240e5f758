package embedded_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T) *redis.Client {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() {
		require.NoError(t, rdb.Close())
		server.Close()
		server.Close()
	})
	return rdb
}

func TestKeysExpireByTheRealClock(t *testing.T) {
	rdb := start(t)
	ctx := t.Context()
	begin := time.Now()
	require.NoError(t, rdb.Set(ctx, "k", "v", time.Minute).Err())
	require.NoError(t, rdb.HSet(ctx, "h", "f", "v").Err())
	const ttl = 50 * time.Millisecond
	require.NoError(t, rdb.PExpire(ctx, "h", ttl).Err())
	require.Eventually(t, func() bool { return rdb.Exists(ctx, "h").Val() == 0 },
		10*time.Second, time.Millisecond)
	passed := time.Since(begin)
	require.GreaterOrEqual(t, passed, ttl)
	require.LessOrEqual(t, rdb.PTTL(ctx, "k").Val(), time.Minute-ttl)
}

func TestTimeIsReal(t *testing.T) {
	embedded.Fits(t)
	rdb := start(t)
	script := `local t = redis.call('time') return t[1] * 1000000 + t[2]`
	before := time.Now().UnixMicro()
	us, err := rdb.Eval(t.Context(), script, nil).Int64()
	require.NoError(t, err)
	require.GreaterOrEqual(t, us, before)
	require.LessOrEqual(t, us, time.Now().UnixMicro())
}

func TestScriptsPublishAndCountSubscribers(t *testing.T) {
	rdb := start(t)
	ctx := t.Context()
	sub := rdb.Subscribe(ctx, "news")
	defer func() { require.NoError(t, sub.Close()) }()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	got, err := rdb.Eval(ctx, `
		local reached = redis.call('publish', KEYS[1], 'free')
		return {reached, redis.call('pubsub', 'numsub', KEYS[1])[2]}`, []string{"news"}).Slice()
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(1)}, got)
	message, err := sub.ReceiveMessage(ctx)
	require.NoError(t, err)
	require.Equal(t, "free", message.Payload)
}

func TestCloseCutsConnections(t *testing.T) {
	server, err := embedded.Start()
	require.NoError(t, err)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer func() { require.NoError(t, rdb.Close()) }()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	server.Close()
	require.Error(t, rdb.Ping(t.Context()).Err())
}
