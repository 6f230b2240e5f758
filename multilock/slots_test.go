package multilock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Defect B4: names of several slots, by an ordinary client, on a server that wants the keys of a script in one
// slot, as a cluster of one node does. Names that are in one slot are taken by one script all the same, and once
// the client has learned, nothing is refused any more.
func TestAPlainClientBeforeAServerThatEnforcesSlots(t *testing.T) {
	t.Parallel()
	server := redistest.Cluster(t, 1).Node(0)
	refused := func() (n int) {
		if _, count, ok := strings.Cut(server.Info(t, "commandstats")["cmdstat_evalsha"], "rejected_calls="); ok {
			_, err := fmt.Sscanf(count, "%d", &n)
			require.NoError(t, err)
		}
		return n
	}
	c := clientAt(t, server.Addr(), nil)
	early := multilock.New(locks(c, "a", "b", "{tag}:1", "{tag}:2", "c"))
	for range 3 {
		held, unlock, err := early.Lock(within(t))
		require.NoError(t, err)
		holds, err := early.Held(held)
		require.NoError(t, err)
		require.Len(t, holds, 5)
		_, _, err = multilock.New(locks(c, "z", "c")).TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
	}
	require.Equal(t, 1, refused(), "it learns from the first refusal")
	late := multilock.New(locks(c, "a", "b", "{tag}:1", "{tag}:2", "c"))
	before := server.Calls(t, "evalsha")
	_, unlock, err := late.TryLock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.Equal(t, int64(8), server.Calls(t, "evalsha")-before, "four slots, taken and released")
	crowd(t, c) // acquisitions and releases that share exchanges with others
	require.Equal(t, 1, refused(), "what a set has learned holds for all locks of its client")
	require.NoError(t, c.Close())
	for _, key := range server.Keys(t) {
		require.True(t, strings.HasPrefix(key, "redisson_lock_token:"), key)
	}
}

// crowd has many callers lock at the same time, each another name.
func crowd(t *testing.T, c *rlock.Client) {
	var callers sync.WaitGroup
	for i := range 64 {
		callers.Go(func() {
			for turn := range 5 {
				lock := rlock.New(c, fmt.Sprint("crowd:", i, turn))
				assert.NoError(t, lock.Do(within(t), func(context.Context) error { return nil }))
			}
		})
	}
	callers.Wait()
}

// Defect B4: the server begins to enforce slots while all are held, or while the reply to the script that took all is
// lost. All are released, and taken, one by one, and the next caller gets them.
func TestSlotsAreEnforcedFromSomeMomentOn(t *testing.T) {
	t.Parallel()
	for says, lost := range map[string]bool{
		"CROSSSLOT Keys in request don't hash to the same slot": false,
		"CROSSSLOT no": true,
		"ERR eval/evalsha command keys must be in same slot": false,
		"ERR keys must be in same slot":                      true,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			c, rival := clientAt(t, proxy.Addr(), nil), clientAt(t, server.Addr(), nil)
			n := []string{"a", "b", "c"}
			free(t, c, n...)
			var enforced atomic.Bool
			refused := proxy.On(func(r faultproxy.Request) bool {
				return enforced.Load() && (r.SHA() == luacall.SHA("acquire_all") || r.SHA() == luacall.SHA("release_many"))
			}, faultproxy.AnswerError(says)).Times(-1)
			if lost {
				proxy.On(faultproxy.Script(luacall.SHA("acquire_all")), func(x *faultproxy.Exchange) {
					enforced.Store(true) // before the connection ends, by which the client learns
					faultproxy.CutAfter(x)
				})
			}
			m := multilock.New(locks(c, n...))
			held, unlock, err := m.Lock(within(t))
			require.NoError(t, err)
			enforced.Store(true)
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
			refused.Wait(t, 1)
			free(t, rival, n...)
			require.NoError(t, multilock.New(locks(c, n...)).Do(within(t), func(context.Context) error { return nil }))
			free(t, rival, n...)
		})
	}
}

// The control: a refusal that has nothing to do with slots is told as it is, at once, and nothing stays taken.
func TestAnotherRefusalIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	c, rival := clientAt(t, proxy.Addr(), nil), clientAt(t, server.Addr(), nil)
	refused := proxy.On(faultproxy.AnyScript, faultproxy.AnswerError("ERR unknown command 'EVALSHA'")).Times(-1)
	_, _, err := multilock.New(locks(c, "a", "b")).Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.ErrorContains(t, err, "unknown command")
	require.Positive(t, refused.Fired())
	free(t, rival, "a", "b")
}
