package multilock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect F11: the unlock of a set returns within ReleaseTimeout, also when its script waits for a dial that hangs.
func TestUnlockOfASetIsBoundedByReleaseTimeout(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{500 * time.Millisecond, 5 * time.Second} {
		t.Run(limit.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := simredis.New(t)
				rdb := redis.NewClient(server.Options())
				defer func() { _ = rdb.Close() }()
				c := client(t, rdb, &rlock.ClientOptions{ReleaseTimeout: limit})
				_, unlock, err := multilock.New(locks(c, "a", "b", "c")).Lock(t.Context())
				require.NoError(t, err)
				server.Leave(simredis.Unanswered)
				began := time.Now()
				require.ErrorIs(t, unlock(), rlock.ErrUnconfirmed)
				require.LessOrEqual(t, time.Since(began), limit+20*time.Millisecond)
				_ = c.Close()
			})
		})
	}
}
