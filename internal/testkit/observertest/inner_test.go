package observertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/observertest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// A grant that comes when its client is closed is nobody's, and no hold was told of.
func TestAGrantAfterCloseIsNotTold(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		at.Freeze()
		failed := make(chan error, 1)
		go func() {
			_, _, err := rlock.New(c, "gate").TryLock(t.Context())
			failed <- err
		}()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		at.Thaw()
		require.Error(t, <-failed)
		<-closed
		other := client(at, nil)
		_, unlock := take(t, rlock.New(other, "gate"), t.Context())
		require.NoError(t, unlock())
	}, func(told *observertest.Checker) {
		require.Len(t, told.Calls(), 1)
		assert.ErrorIs(t, told.Calls()[0].Err, rlock.ErrClosed)
		assert.Empty(t, told.Holds())
	})
}

// A member is lost while the set still waits for another one.
func TestASetWhoseMemberIsLostBeforeItIsWhole(t *testing.T) {
	on(t, func(t *testing.T, c *rlock.Client, at *lab, _ *observertest.Checker) {
		elsewhere := &lab{Lab: holdfasttest.New(t)}
		slow := client(elsewhere, nil)
		elsewhere.Freeze()
		result := make(chan error, 1)
		go func() {
			held, unlock, err := multilock.New([]*rlock.Lock{rlock.New(c, "a"), rlock.New(slow, "b")}).Lock(t.Context())
			if err == nil {
				err = errors.Join(context.Cause(held), unlock())
			}
			result <- err
		}()
		synctest.Wait()
		at.Lose("a", rlock.LossGone)
		elsewhere.Thaw()
		require.NoError(t, <-result, "the set takes that member again")
		require.NoError(t, slow.Close())
	}, func(told *observertest.Checker) {
		require.Len(t, told.Calls(), 1)
		require.Len(t, told.Holds(), 1)
		assert.NoError(t, told.Holds()[0].Err)
	})
}
