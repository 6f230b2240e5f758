package rlock_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// A prefix that leaves no room for a name is refused when the client is made (defect F15).
func TestAPrefixLeavesRoomForAName(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err := rlock.NewClient(rdb, &rlock.ClientOptions{Prefix: strings.Repeat("p", 1024)})
	badArgument(t, err, "ClientOptions.Prefix")
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Prefix: strings.Repeat("p", 1023)})
	require.NoError(t, err)
	require.NoError(t, client.Close())
}
