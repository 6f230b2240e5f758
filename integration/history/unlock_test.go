package history_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G2: the last unlock ends the context before it sends the release, so that no holder that respects the context is
// inside when the next one may be. Histories cannot show it, because their holders stop by themselves before they
// unlock.
func TestContextEndsBeforeTheReleaseIsSent(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	held, unlock, err := rlock.New(client, "order").Lock(t.Context())
	require.NoError(t, err)
	gate := faultproxy.NewGate()
	release := proxy.On(faultproxy.Script(luacall.SHA("release")), faultproxy.HoldRequest(gate))
	unlocked := make(chan error, 1)
	go func() { unlocked <- unlock() }()
	release.Wait(t, 1)
	over := held.Err() // the release is on its way, and unlock waits for it
	gate.Open()
	require.Error(t, over, "the release was sent while the context lives")
	require.NoError(t, redistest.Receive(t, 20*time.Second, unlocked, "unlock does not return"))
}
