package hold_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/rlock"
)

// passTurn is a turn of a run.
type passTurn struct {
	ctx    context.Context
	unlock func() error
}

// passQueue has three callers stand in line behind a hold that has no tokens for them: the first of them asks Redis.
func passQueue(t *testing.T, client *rlock.Client, lock *rlock.Lock) []chan passTurn {
	t.Helper()
	_, unlock := enderLock(t, client, lock.Name())
	turns := make([]chan passTurn, 3)
	for i := range turns {
		turns[i] = make(chan passTurn)
		go func() {
			held, unlock, err := lock.Lock(context.Background())
			if err != nil {
				t.Error(err)
			}
			turns[i] <- passTurn{held, unlock}
		}()
		synctest.Wait()
	}
	time.Sleep(10 * time.Millisecond) // in virtual time: there are tokens to spare
	require.NoError(t, unlock())
	return turns
}

// passLine is the turns of such a line, all of which are over but for the last.
func passLine(t *testing.T, client *rlock.Client, lock *rlock.Lock) []passTurn {
	t.Helper()
	turns := passQueue(t, client, lock)
	got := make([]passTurn, len(turns))
	for i := range turns {
		got[i] = <-turns[i]
		if i < len(turns)-1 {
			time.Sleep(100 * time.Millisecond / time.Duration(len(turns)*len(turns)))
			require.NoError(t, got[i].unlock())
		}
	}
	return got
}

// G2: to be passed on makes no hold valid for longer: the last turn ends by the lease that Redis confirmed to the
// first, to the nanosecond, if no renewal reaches it.
func TestPassingOnRaisesNoValidity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := enderClient(t)
		defer func() { _ = client.Close() }()
		lock := rlock.New(client, "order")
		began := time.Now()
		turns := passLine(t, client, lock)
		first, last := turns[1], turns[2]
		require.ErrorIs(t, context.Cause(first.ctx), rlock.ErrReleased)
		held, err := lock.Held(last.ctx)
		require.NoError(t, err)
		require.Less(t, held.ValidUntil.Sub(began), 3*time.Second-20*time.Millisecond)
		sim.Freeze()
		enderOver(t, last.ctx)
		require.False(t, time.Now().After(held.ValidUntil), "%v", time.Since(held.ValidUntil))
		require.ErrorIs(t, last.unlock(), rlock.ErrLost)
		sim.Thaw()
	})
}

// A run that nothing interrupts is renewed like one hold: the last turn goes on for as long as it likes.
func TestTheLastTurnIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := enderClient(t)
		turns := passLine(t, client, rlock.New(client, "order"))
		last := turns[len(turns)-1]
		time.Sleep(time.Minute)
		require.NoError(t, last.ctx.Err())
		require.NoError(t, last.unlock())
		require.NoError(t, client.Close())
	})
}

// A level ends, the unlock of the lock follows, and the count in Redis is due while its context ends, when the grant is
// between two Holds. It is told for the next one.
func TestACountThatIsDueWhileTheGrantPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, sim := enderClient(t)
		defer func() { _ = client.Close() }()
		lock := rlock.New(client, "order")
		line := passQueue(t, client, lock)
		first := <-line[0]
		granted, err := lock.Held(first.ctx)
		require.NoError(t, err)
		count := func() string { return sim.Miniredis().HGet("order", granted.ID) }
		_, leave, err := lock.Lock(first.ctx)
		require.NoError(t, err)
		time.Sleep(15 * time.Millisecond)
		require.Equal(t, "2", count())
		require.NoError(t, leave())
		hold.OnEnd(first.ctx, func(end func()) {
			time.Sleep(15 * time.Millisecond)
			end()
		})
		require.NoError(t, first.unlock())
		second := <-line[1]
		passed, err := lock.Held(second.ctx)
		require.NoError(t, err)
		require.Equal(t, granted.ID, passed.ID)
		require.Equal(t, "2", count())
		time.Sleep(15 * time.Millisecond)
		assert.Equal(t, "1", count())
		require.NoError(t, second.unlock())
		require.NoError(t, (<-line[2]).unlock())
	})
}
