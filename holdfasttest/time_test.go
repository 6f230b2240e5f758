package holdfasttest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

const lease = 3 * time.Second

func TestTimePassesAndHoldsAreRenewed(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		one, other := lab.Client(&rlock.ClientOptions{Lease: lease}), lab.Client(nil)
		held, unlock, err := rlock.New(one, "a").Lock(background)
		require.NoError(t, err)
		reading, leave, err := rwlock.New(one, "b").Read().Lock(background)
		require.NoError(t, err)
		lab.HoldElsewhere("c")
		lab.Advance(20 * lease)
		require.NoError(t, held.Err())
		require.NoError(t, reading.Err())
		for _, lock := range []*rlock.Lock{
			rlock.New(other, "a"), rwlock.New(other, "b").Write(), rlock.New(other, "c"),
		} {
			_, _, err := lock.TryLock(background)
			require.ErrorIs(t, err, rlock.ErrBusy)
		}
		hold, err := rlock.New(one, "a").Held(held)
		require.NoError(t, err)
		require.Greater(t, time.Until(hold.ValidUntil), lease/3)
		require.NoError(t, unlock())
		require.NoError(t, leave())
	})
}

func TestTimeEndsWhatIsLimited(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(nil)
		for name, c := range map[string]struct {
			limit  rlock.Option
			reason rlock.LossReason
		}{
			"fixed": {rlock.FixedLease(time.Minute), rlock.LossExpired},
			"max":   {rlock.MaxHold(time.Minute), rlock.LossMaxHold},
		} {
			held, unlock, err := rlock.New(client, name, c.limit).Lock(background)
			require.NoError(t, err)
			lab.Advance(55 * time.Second)
			require.NoError(t, held.Err(), name)
			lab.Advance(6 * time.Second)
			var lost *rlock.LostError
			require.ErrorAs(t, ended(t, held), &lost, name)
			require.Equal(t, c.reason, lost.Reason, name)
			require.ErrorIs(t, unlock(), rlock.ErrLost)
		}
	})
}

func TestAFrozenStoreLosesTheLock(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		one, other := lab.Client(&rlock.ClientOptions{Lease: lease}), lab.Client(nil)
		held, unlock, err := rlock.New(one, "job").Lock(background)
		require.NoError(t, err)
		lab.Freeze()
		lab.Freeze() // once is enough to thaw
		lab.Advance(lease / 2)
		require.NoError(t, held.Err(), "the lease goes on")
		lab.Advance(lease)
		var lost *rlock.LostError
		require.ErrorAs(t, ended(t, held), &lost)
		require.Equal(t, rlock.LossExpired, lost.Reason)
		hurried, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		_, _, err = rlock.New(other, "job").Lock(hurried)
		require.ErrorIs(t, err, context.DeadlineExceeded, "nobody is answered")
		lab.Thaw()
		_, next, err := rlock.New(other, "job").Lock(background)
		require.NoError(t, err)
		require.NoError(t, next())
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	})
}

func TestAHoldOutlivesAShortFreeze(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		held, unlock, err := rlock.New(lab.Client(&rlock.ClientOptions{Lease: lease}), "job").Lock(background)
		require.NoError(t, err)
		lab.Freeze()
		lab.Advance(lease / 2)
		lab.Thaw()
		lab.Advance(2 * lease)
		require.NoError(t, held.Err())
		require.NoError(t, unlock())
	})
}

// A reply that is lost after the effect: neither a Lock nor an unlock counts twice, or goes wrong.
func TestDroppedRepliesChangeNothing(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client, other := lab.Client(nil), lab.Client(nil)
		lab.Drop(2)
		_, unlock, err := rlock.New(client, "job").Lock(background)
		require.NoError(t, err)
		_, _, err = rlock.New(other, "job").TryLock(background)
		require.ErrorIs(t, err, rlock.ErrBusy)
		lab.Drop(2)
		require.NoError(t, unlock())
		_, unlock, err = rlock.New(other, "job").TryLock(background)
		require.NoError(t, err)
		require.NoError(t, unlock())
	})
}

func TestADroppedRenewalIsRepeated(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		failed := make(chan error, 100)
		client := lab.Client(&rlock.ClientOptions{Lease: lease, Observer: &rlock.Observer{
			Renewed: func(r rlock.Renewal) { failed <- r.Err },
		}})
		held, unlock, err := rlock.New(client, "job").Lock(background)
		require.NoError(t, err)
		lab.Drop(1)
		lab.Advance(lease / 2)
		require.Error(t, <-failed)
		lab.Advance(2 * lease)
		require.NoError(t, <-failed)
		require.NoError(t, held.Err())
		require.NoError(t, unlock())
	})
}

// A waiter of another process learns that a lease is over though nobody tells it.
func TestAWaiterGetsWhatExpired(t *testing.T) {
	both(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		one, other := lab.Client(nil), lab.Client(&rlock.ClientOptions{MaxPoll: time.Hour})
		held, unlock, err := rlock.New(one, "job", rlock.FixedLease(time.Hour)).Lock(background)
		require.NoError(t, err)
		in := make(chan error)
		go func() {
			in <- rlock.New(other, "job").Do(background, func(context.Context) error { return context.Cause(held) })
		}()
		listens(t, "job", one) // a call that asks for the first time while time flies may give up
		lab.Advance(2 * time.Hour)
		require.ErrorIs(t, <-in, rlock.ErrLost)
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	})
}

// The next holder comes in when all that was made from the context of the one before has ended, however much that is.
// In a bubble, where what takes a moment takes no time, nothing could be seen of it.
func TestAllThatWasMadeFromTheContextEndsFirst(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	held, unlock, err := rlock.New(lab.Client(nil), "job", rlock.FixedLease(time.Minute)).Lock(background)
	require.NoError(t, err)
	made := make([]context.Context, 50_000)
	for i := range made {
		ctx, cancel := context.WithCancel(held)
		defer cancel()
		made[i] = ctx
	}
	in := make(chan int)
	other := lab.Client(&rlock.ClientOptions{MaxPoll: time.Hour})
	go func() {
		live := 0
		_ = rlock.New(other, "job").Do(background, func(context.Context) error {
			for _, ctx := range made {
				if ctx.Err() == nil {
					live++
				}
			}
			return nil
		})
		in <- live
	}()
	listens(t, "job", lab.Client(nil))
	lab.Advance(2 * time.Minute)
	require.Zero(t, <-in)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
}

// The clients' release timeouts do not pass when the test ends with a frozen store.
func TestAFrozenStoreDoesNotHoldUpTheEndOfTheTest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		failures(t, func(t testing.TB) {
			lab := holdfasttest.New(t)
			if _, _, err := rlock.New(lab.Client(nil), "job").Lock(background); err != nil {
				t.Errorf("%v", err)
			}
			lab.Freeze()
		})
		require.Zero(t, time.Since(began))
	})
}

// The replies that are lost are those to the clients of the test: an answer that is lost is asked for after a pause.
func TestRepliesAreNotLostElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(nil)
		lab.Drop(1)
		began := time.Now()
		lab.HoldElsewhere("other")
		require.Zero(t, time.Since(began))
		_, unlock, err := rlock.New(client, "job").Lock(background)
		require.NoError(t, err)
		require.Positive(t, time.Since(began))
		require.NoError(t, unlock())
	})
}

// An hour of work with a lock takes no time in a bubble, and needs nothing of the lab but its client. No example shows
// that: package testing starts no test from one.
func TestAnHourOfWorkInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lab, began := holdfasttest.New(t), time.Now()
		require.NoError(t, nightly(context.Background(), lab.Client(nil), func(ctx context.Context) error {
			time.Sleep(time.Hour)
			return ctx.Err()
		}))
		require.Equal(t, time.Hour, time.Since(began).Truncate(time.Minute))
	})
}
