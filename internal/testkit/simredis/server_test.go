package simredis_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
)

// bubble runs a test in a bubble, with a server in it, over RESP2 and RESP3.
func bubble(t *testing.T, test func(t *testing.T, s *simredis.Server, rdb *redis.Client)) {
	for name, protocol := range map[string]int{"RESP2": 2, "RESP3": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simredis.New(t)
				opts := s.Options()
				opts.Protocol, opts.MaxRetries, opts.ContextTimeoutEnabled = protocol, -1, true
				rdb := redis.NewClient(opts)
				t.Cleanup(func() { _ = rdb.Close() })
				test(t, s, rdb)
			})
		})
	}
}

func TestKeysExpireInVirtualTime(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		ctx := t.Context()
		const ttl = 30 * time.Second
		require.NoError(t, rdb.Set(ctx, "k", "v", ttl).Err())
		time.Sleep(ttl - time.Millisecond)
		require.Equal(t, "v", rdb.Get(ctx, "k").Val())
		require.Equal(t, time.Millisecond, rdb.PTTL(ctx, "k").Val())
		time.Sleep(time.Millisecond)
		require.ErrorIs(t, rdb.Get(ctx, "k").Err(), redis.Nil)
	})
}

func TestHoursPassInNoTime(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		start := time.Now()
		script := redis.NewScript(`
			redis.call('hincrby', KEYS[1], 'n', 1)
			return redis.call('pexpire', KEYS[1], 30000)`)
		for range 720 {
			require.NoError(t, script.Run(t.Context(), rdb, []string{"k"}).Err())
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, "720", rdb.HGet(t.Context(), "k", "n").Val())
		time.Sleep(20 * time.Second)
		require.Zero(t, rdb.Exists(t.Context(), "k").Val())
		require.Equal(t, 2*time.Hour+20*time.Second, time.Since(start), "nothing but the sleeps takes any time")
	})
}

func TestTimeIsThatOfTheBubble(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		time.Sleep(time.Hour + 1234*time.Microsecond)
		got, err := rdb.Time(t.Context()).Result()
		require.NoError(t, err)
		require.True(t, got.Equal(time.Now()), got)
		us, err := rdb.Eval(t.Context(),
			`local t = redis.call('time') return t[1] * 1000000 + t[2]`, nil).Int64()
		require.NoError(t, err)
		require.Equal(t, time.Now().UnixMicro(), us)
	})
}

func TestMessagesFromScriptsReachSubscribers(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		ctx := t.Context()
		sub := rdb.Subscribe(ctx, "news")
		defer func() { require.NoError(t, sub.Close()) }()
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		got := make(chan string)
		go func() {
			defer close(got)
			message, err := sub.ReceiveMessage(ctx)
			if err == nil {
				got <- message.Payload
			}
		}()
		time.Sleep(time.Hour)
		n, err := rdb.Eval(ctx, `return redis.call('publish', 'news', 'free')`, nil).Int()
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, "free", <-got)
	})
}

func TestSubscriberThatDoesNotReadStopsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		ctx := t.Context()
		sub := rdb.Subscribe(ctx, "news")
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		for range 100 {
			require.NoError(t, rdb.Publish(ctx, "news", make([]byte, 10_000)).Err())
		}
		time.Sleep(time.Hour)
		require.NoError(t, rdb.Ping(ctx).Err())
		require.NoError(t, sub.Close())
	})
}

func TestSubscriptionsEndWithTheirConnection(t *testing.T) {
	bubble(t, func(t *testing.T, _ *simredis.Server, rdb *redis.Client) {
		ctx := t.Context()
		sub := rdb.Subscribe(ctx, "news")
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, rdb.Publish(ctx, "news", "m").Val())
		require.NoError(t, sub.Close())
		synctest.Wait()
		require.Zero(t, rdb.Publish(ctx, "news", "m").Val())
		require.Empty(t, rdb.PubSubChannels(ctx, "*").Val())
	})
}

func TestClientOfTheServerEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simredis.New(t)
		rdb := s.Client()
		require.NoError(t, rdb.Ping(t.Context()).Err())
		sub := rdb.Subscribe(context.Background(), "news")
		go func() {
			for range sub.Channel() { // ends with the client
			}
		}()
		synctest.Wait()
		require.NoError(t, sub.Close())
	})
}

func TestServerOutsideOfABubble(t *testing.T) {
	s := simredis.New(t)
	rdb := s.Client()
	require.NoError(t, rdb.Set(t.Context(), "k", "v", time.Millisecond).Err())
	require.Eventually(t, func() bool { return rdb.Exists(t.Context(), "k").Val() == 0 },
		time.Minute, time.Millisecond)
}
