package hold_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// superseded are pairs of locks at one name, of which the second excludes the first.
var superseded = map[string]struct {
	first, second func(client *rlock.Client) lock.Locker
}{
	"a lock":                {plainK, plainK},
	"a lock that is set":    {plainK, setK},
	"a set":                 {setK, plainK},
	"a kept lock":           {func(c *rlock.Client) lock.Locker { return rlock.New(c, "k", rlock.Keep(time.Second)) }, plainK},
	"a fair lock":           {fairK, fairK},
	"a writer, by one":      {writeK, writeK},
	"a writer, by a reader": {writeK, readK},
	"a reader, by a writer": {readK, writeK},
}

func plainK(c *rlock.Client) lock.Locker { return rlock.New(c, "k") }
func fairK(c *rlock.Client) lock.Locker  { return fairlock.New(c, "k") }
func writeK(c *rlock.Client) lock.Locker { return rwlock.New(c, "k").Write() }
func readK(c *rlock.Client) lock.Locker  { return rwlock.New(c, "k").Read() }
func setK(c *rlock.Client) lock.Locker {
	return multilock.New([]*rlock.Lock{rlock.New(c, "k"), rlock.New(c, "other")})
}

// Defect G48: a call asked the store while another one of its process was granted the lock; then somebody deleted the
// key, and the call was granted it, too. Both contexts lived until the next renewal of the first.
func TestAHoldThatIsWonEndsThoseOfItsProcessThatItExcludes(t *testing.T) {
	for name, c := range superseded {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, sim := enderClient(t)
				defer func() { _ = client.Close() }()
				first, second := c.first(client), c.second(client)
				wins := asksBeside(t, sim, second)
				held, unlock, err := first.TryLock(context.Background())
				require.NoError(t, err)
				time.Sleep(100 * time.Millisecond) // the other one is told that it is busy
				require.NoError(t, held.Err())
				sim.Miniredis().FlushAll()
				won := <-wins
				require.ErrorIs(t, context.Cause(held), rlock.ErrLost, "both live")
				require.NoError(t, won.ctx.Err())
				require.ErrorIs(t, unlock(), rlock.ErrLost)
				time.Sleep(time.Minute)
				require.NoError(t, won.ctx.Err(), "what was left of the first took nothing from it")
				require.NoError(t, won.unlock())
			})
		})
	}
}

// asksBeside has a lock be asked for, by a request that takes so long that a call which comes after it is served first.
func asksBeside(t *testing.T, sim *simredis.Server, second lock.Locker) <-chan passTurn {
	wins := make(chan passTurn, 1)
	slow := 0
	sim.SetFault(func(conn int, _ []string) simredis.Verdict {
		if slow == 0 {
			slow = conn
		}
		if conn == slow {
			return simredis.Delay(10 * time.Millisecond)
		}
		return simredis.Pass
	})
	go func() {
		held, unlock, err := second.Lock(context.Background())
		if err != nil {
			t.Error(err)
		}
		wins <- passTurn{held, unlock}
	}()
	synctest.Wait()
	sim.SetFault(nil)
	return wins
}

// Import takes a hold that stands in the store. If one of its own process stands here, it is gone there (defect G48).
func TestAHoldThatIsImportedEndsThoseOfItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := enderClient(t)
		defer func() { _ = client.Close() }()
		other, err := rlock.NewClient(sim.Client(), nil)
		require.NoError(t, err)
		defer func() { _ = other.Close() }()
		held, unlock := enderLock(t, client, "k")
		sim.Miniredis().Del("k")
		foreign, _ := enderLock(t, other, "k")
		token, err := rlock.New(other, "k").Export(foreign)
		require.NoError(t, err)
		_, leave, err := rlock.New(client, "k").Import(context.Background(), token)
		require.NoError(t, err)
		require.ErrorIs(t, context.Cause(held), rlock.ErrLost, "both live")
		require.ErrorIs(t, unlock(), rlock.ErrLost)
		require.NoError(t, leave())
	})
}
