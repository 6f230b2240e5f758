package holdfasttest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestALossEndsTheContextWithItsReasonAndFreesTheLock(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client, other := lab.Client(nil), lab.Client(nil)
		require.NoError(t, semaphore.New(client, "pool").SetCapacity(background, 1))
		for _, reason := range []rlock.LossReason{rlock.LossExpired, rlock.LossGone, rlock.LossMaxHold} {
			for name, take := range map[string]func(c *rlock.Client) (context.Context, func() error, error){
				"plain": func(c *rlock.Client) (context.Context, func() error, error) {
					return rlock.New(c, "plain").TryLock(background)
				},
				"fixed": func(c *rlock.Client) (context.Context, func() error, error) {
					return rlock.New(c, "fixed", rlock.FixedLease(time.Hour)).TryLock(background)
				},
				"fair": func(c *rlock.Client) (context.Context, func() error, error) {
					return fairlock.New(c, "fair").Lock(background)
				},
				"read": func(c *rlock.Client) (context.Context, func() error, error) {
					return rwlock.New(c, "read").Read().TryLock(background)
				},
				"write": func(c *rlock.Client) (context.Context, func() error, error) {
					return rwlock.New(c, "write").Write().TryLock(background)
				},
				"pool": func(c *rlock.Client) (context.Context, func() error, error) {
					return semaphore.New(c, "pool").TryAcquire(background, 1)
				},
			} {
				held, unlock, err := take(client)
				require.NoError(t, err, name)
				lab.Lose(name, reason)
				var lost *rlock.LostError
				require.Error(t, held.Err(), "%s: the context has ended when Lose returns", name)
				require.ErrorAs(t, context.Cause(held), &lost, name)
				require.Equal(t, reason, lost.Reason, name)
				require.Equal(t, name, lost.Name)
				_, next, err := take(other)
				require.NoError(t, err, "%s: the lock is free when Lose returns", name)
				require.NoError(t, next())
				require.ErrorIs(t, unlock(), rlock.ErrLost, name)
			}
		}
	})
}

// The test need not know when the code under test has the lock.
func TestLoseWaitsForAHolder(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(nil)
		for range 20 {
			job := make(chan error)
			go func() {
				job <- rlock.New(client, "job").Do(background, func(ctx context.Context) error {
					<-ctx.Done()
					return context.Cause(ctx)
				})
			}()
			lab.Lose("job", rlock.LossGone)
			require.ErrorIs(t, <-job, rlock.ErrLost)
		}
	})
}

// listens waits until another client than c has been refused, and waits.
func listens(t *testing.T, name string, c *rlock.Client) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, func() bool {
		info, err := rlock.New(c, name).Inspect(background)
		return err == nil && info.Waiters == 1
	}, "it waits")
}

func TestAWaiterGetsWhatWasLost(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		held, unlock, err := rlock.New(lab.Client(nil), "job").Lock(background)
		require.NoError(t, err)
		in := make(chan error)
		other := lab.Client(&rlock.ClientOptions{MaxPoll: time.Hour}) // it does not find out by itself
		go func() {
			in <- rlock.New(other, "job").Do(background, func(context.Context) error {
				if held.Err() == nil {
					return errors.New("the one before still has the lock")
				}
				return nil
			})
		}()
		listens(t, "job", lab.Client(nil))
		lab.Lose("job", rlock.LossGone)
		require.NoError(t, <-in)
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	})
}

func TestHeldElsewhere(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(&rlock.ClientOptions{Prefix: "app:"})
		locks := map[string]*rlock.Lock{
			"plain": rlock.New(client, "job"), "fair": fairlock.New(client, "job"),
			"read": rwlock.New(client, "job").Read(), "write": rwlock.New(client, "job").Write(),
		}
		release := lab.HoldElsewhere("job")
		for name, lock := range locks {
			_, _, err := lock.TryLock(background)
			require.ErrorIs(t, err, rlock.ErrBusy, name)
		}
		in := make(chan error)
		go func() {
			in <- locks["plain"].Do(background, func(context.Context) error { return nil })
		}()
		release()
		release()
		require.NoError(t, <-in)
		for name, lock := range locks {
			_, unlock, err := lock.TryLock(background)
			require.NoError(t, err, name)
			require.NoError(t, unlock(), name)
		}
		lab.HoldElsewhere("forgotten") // which is not the test's fault
	})
}
