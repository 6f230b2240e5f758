package rlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// handleClient is a client that is connected to nothing: making a handle sends nothing.
func handleClient(t *testing.T, o rlock.ClientOptions) *rlock.Client {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	o.Lease = time.Minute
	client, err := rlock.NewClient(rdb, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		require.NoError(t, rdb.Close())
	})
	return client
}

// Applications make a handle for each call. What is derived from the name is the client's, so that costs little.
func TestAHandleForACallIsCheap(t *testing.T) {
	client := handleClient(t, rlock.ClientOptions{})
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { rlock.New(client, "order:7") }), 6.0)
}
