package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/rlock"
)

var periods = []contract{
	{"AHoldIsRenewedBeyondItsLease", 0, renewedBeyond},
	{"AHoldIsRenewedAfterItsContextEnded", 0, renewedAfterTheEnd},
	{"AFixedLeaseEnds", 0, fixedLeaseEnds},
	{"MaxHoldEnds", 0, maxHoldEnds},
	{"MinHoldKeepsTheLockOrIsRefused", Options, minHoldKeeps},
	{"GraceEndsAHoldBeforeItsValidity", Options | Knowledge, graceEndsEarly},
	{"DoJoinsTheErrors", 0, doJoinsTheErrors},
}

// The other client's wait is the clock: it lasts some leases and never gets the lock.
func renewedBeyond(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	_, _, err := lab.Lock(1, n, rlock.MaxWait(3*lab.Lease)).Lock(within(t))
	only(t, err, rlock.ErrBusy)
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// Cleaning up after a cancellation needs the exclusion too.
func renewedAfterTheEnd(t *testing.T, lab Lab) {
	n := name(t)
	ctx, cancel := context.WithCancel(within(t))
	_, unlock := take(t, ctx, lab.Lock(0, n))
	cancel()
	_, _, err := lab.Lock(1, n, rlock.MaxWait(2*lab.Lease)).Lock(within(t))
	only(t, err, rlock.ErrBusy)
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// The waiter gets the lock when the lease has ended, and by then the holder knows.
func fixedLeaseEnds(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n, rlock.FixedLease(lab.Lease)))
	_, next := take(t, within(t), lab.Lock(1, n))
	loss(t, context.Cause(held), rlock.LossExpired)
	loss(t, unlock(), rlock.LossExpired)
	only(t, unlock(), rlock.ErrNotHeld)
	require.NoError(t, next(), "a lost hold's unlock leaves the next holder alone")
}

func maxHoldEnds(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n, rlock.MaxHold(lab.Lease/4)))
	_, next := take(t, within(t), lab.Lock(1, n))
	loss(t, context.Cause(held), rlock.LossMaxHold)
	loss(t, unlock(), rlock.LossMaxHold)
	require.NoError(t, next())
}

// A lock either is kept after unlock, from its own process and the other one, or has no such option.
func minHoldKeeps(t *testing.T, lab Lab) {
	n, least := name(t), 2*lab.Lease
	began := time.Now()
	held, unlock, err := lab.Lock(0, n, rlock.MinHold(least)).Lock(within(t))
	var refused *rlock.ArgumentError
	if errors.As(err, &refused) {
		require.Equal(t, "MinHold", refused.Name)
		return
	}
	require.NoError(t, err)
	require.NoError(t, unlock())
	only(t, context.Cause(held), rlock.ErrReleased)
	_, err = lab.Lock(0, n).Held(held)
	only(t, err, rlock.ErrNotHeld)
	for client := range 2 {
		_, _, err = lab.Lock(client, n).TryLock(within(t))
		only(t, err, rlock.ErrBusy)
	}
	_, next := take(t, within(t), lab.Lock(1, n))
	require.True(t, time.Since(began) >= least, "the lock was free too early")
	require.NoError(t, next())
	soonFree(t, lab.Lock(0, n))
}

// The context ends before the validity, and nobody else has the lock until that is over, though it was unlocked.
func graceEndsEarly(t *testing.T, lab Lab) {
	n := name(t)
	lock := lab.Lock(0, n, rlock.FixedLease(lab.Lease), rlock.Grace(lab.Lease/2))
	held, unlock := take(t, within(t), lock)
	hold, err := lock.Held(held)
	require.NoError(t, err)
	cause := ended(t, held)
	loss(t, cause, rlock.LossExpired)
	require.True(t, strings.Contains(cause.Error(), "Grace began"), "%v", cause)
	loss(t, unlock(), rlock.LossExpired)
	_, next := take(t, within(t), lab.Lock(1, n))
	require.True(t, !time.Now().Before(hold.ValidUntil), "another had the lock before the validity was over")
	require.NoError(t, next())
}

// The work failed and the lock was lost meanwhile: neither error hides the other, on one line.
func doJoinsTheErrors(t *testing.T, lab Lab) {
	lock := lab.Lock(0, name(t), rlock.FixedLease(lab.Lease))
	err := lock.Do(within(t), func(ctx context.Context) error {
		require.ErrorIs(t, ended(t, ctx), rlock.ErrLost)
		return errWork
	})
	require.ErrorIs(t, err, errWork)
	only(t, err, rlock.ErrLost)
	require.NotContains(t, err.Error(), "\n")

	err = lock.Do(within(t), func(ctx context.Context) error {
		_ = ended(t, ctx)
		return nil
	})
	only(t, err, rlock.ErrLost)
}

func loss(t *testing.T, err error, reason rlock.LossReason) {
	t.Helper()
	only(t, err, rlock.ErrLost)
	var lost *rlock.LostError
	require.True(t, errors.As(err, &lost), "%v", err)
	require.Equal(t, reason, lost.Reason)
	require.NotEmpty(t, lost.Name)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}
