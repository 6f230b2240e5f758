package crashpoints_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

var redisSite = site{start: startRedis, dial: dialRedis, pace: 1, poll: maxPoll}

// redisServer is a Redis of a pair's own.
type redisServer struct {
	t      *testing.T
	server *redistest.Server
	direct *redis.Client
}

func startRedis(t *testing.T, a action) server {
	t.Helper()
	var args []redistest.Option
	if a == restart {
		args = append(args, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	}
	s := redistest.Start(t, args...)
	return &redisServer{t, s, s.Client(t)}
}

func dialRedis(addr string) (*dialled, error) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	return &dialled{
		client: func(lease time.Duration) (client, error) {
			return rlock.NewClient(rdb, &rlock.ClientOptions{
				Lease: lease, MaxPoll: maxPoll, ReleaseTimeout: releaseTimeout, Logger: slog.New(slog.DiscardHandler),
			})
		},
		hangUp: func() { _ = rdb.Close() },
	}, nil
}

func (s *redisServer) addr() string { return s.server.Addr() }

// empty implements [server]: nothing is on the disk.
func (s *redisServer) empty(gone func()) { s.restart(gone) }

func (s *redisServer) restart(gone func()) {
	s.server.Kill()
	gone()
	time.Sleep(away) // the fault itself: some calls find nobody
	s.server.Restart()
}

func (s *redisServer) deafen() int {
	n, err := s.direct.ClientKillByFilter(s.t.Context(), "TYPE", "pubsub").Result()
	require.NoError(s.t, err)
	return int(n)
}

// forget implements [server]: the scripts.
func (s *redisServer) forget() { require.NoError(s.t, s.direct.ScriptFlush(s.t.Context()).Err()) }

func (s *redisServer) held() bool {
	n, err := s.direct.Exists(s.t.Context(), lockName).Result()
	require.NoError(s.t, err)
	return n == 1
}

// left implements [server]: every key but the token.
func (s *redisServer) left() []string {
	token := keys.Prefix("redisson_lock_token", lockName)
	return slices.DeleteFunc(s.server.Keys(s.t), func(k string) bool { return k == token })
}

func (s *redisServer) listened() []string { return s.server.PubSubChannels(s.t) }
