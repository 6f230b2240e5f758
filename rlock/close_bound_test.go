package rlock_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// closeCase brings a client into a state in which Redis does not answer what it has under way. That there is no
// place in the pool is tested in package simredis.
type closeCase func(t *testing.T, server *simredis.Server, client *rlock.Client)

// lockBehind starts a Lock, and waits until all that goes on waits.
func lockBehind(client *rlock.Client, name string) {
	go func() { _, _, _ = rlock.New(client, name).Lock(context.Background()) }()
	synctest.Wait()
}

var closeCases = map[string]closeCase{
	"nothing under way": func(_ *testing.T, server *simredis.Server, _ *rlock.Client) {
		server.Freeze()
	},
	"a renewal under way": func(_ *testing.T, server *simredis.Server, _ *rlock.Client) {
		time.Sleep(8 * time.Second)
		server.Freeze()
		time.Sleep(2500 * time.Millisecond) // it began after 8.75 to 10 s
	},
	"a request under way": func(_ *testing.T, server *simredis.Server, client *rlock.Client) {
		server.Freeze()
		lockBehind(client, "other")
	},
	"a greeting under way": func(_ *testing.T, server *simredis.Server, client *rlock.Client) {
		server.CutAll()
		server.Freeze()
		lockBehind(client, "other")
	},
	"a dial under way": func(_ *testing.T, server *simredis.Server, client *rlock.Client) {
		server.Leave(simredis.Stuck)
		lockBehind(client, "other")
	},
}

// defect B14: Close takes as long as ReleaseTimeout and a moment for the observer, whatever is under way.
func TestCloseIsBoundedByReleaseTimeout(t *testing.T) {
	t.Parallel()
	const release, observer = 200 * time.Millisecond, 100 * time.Millisecond
	for name, bring := range closeCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := simredis.New(t)
				rdb := redis.NewClient(server.Options())
				defer func() { _ = rdb.Close() }()
				client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
					ReleaseTimeout: release, Logger: slog.New(slog.DiscardHandler),
				})
				require.NoError(t, err)
				_ = timeLock(t, context.Background(), rlock.New(client, "held"))
				bring(t, server, client)
				began := time.Now()
				require.ErrorContains(t, client.Close(), "held")
				require.LessOrEqual(t, time.Since(began), release+observer)
				server.Thaw()
				time.Sleep(2 * time.Minute) // the dial that heeds no context
			})
		})
	}
}
