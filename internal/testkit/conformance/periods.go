package conformance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var periods = []contract{
	{"AHoldIsRenewedBeyondItsLease", 0, renewedBeyond},
	{"AHoldIsRenewedAfterItsContextEnded", 0, renewedAfterTheEnd},
	{"AFixedLeaseEnds", 0, fixedLeaseEnds},
	{"MaxHoldEnds", 0, maxHoldEnds},
	{"MinHoldKeepsTheLock", Options | MinHolds, minHoldKeeps},
	{"GraceEndsAHoldBeforeItsValidity", Options | Knowledge, graceEndsEarly},
	{"DoJoinsTheErrors", 0, doJoinsTheErrors},
}

// The other client's wait is the clock: it lasts some leases and never gets the lock.
func renewedBeyond(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n))
	_, _, err := lab.Lock(1, n, lock.MaxWait(3*lab.Lease)).Lock(within(t))
	only(t, err, lock.ErrBusy)
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
	_, _, err := lab.Lock(1, n, lock.MaxWait(2*lab.Lease)).Lock(within(t))
	only(t, err, lock.ErrBusy)
	require.NoError(t, unlock())
	soonFree(t, lab.Lock(1, n))
}

// The waiter gets the lock when the lease has ended, and by then the holder knows. The handle is asked first, since it
// judges by the clock: a busy machine may end the context a moment late.
func fixedLeaseEnds(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n, lock.FixedLease(lab.Lease)))
	_, next := take(t, within(t), lab.Lock(1, n))
	_, err := lab.Lock(0, n).Held(held)
	loss(t, err, lock.LossExpired)
	loss(t, context.Cause(held), lock.LossExpired)
	loss(t, unlock(), lock.LossExpired)
	only(t, unlock(), lock.ErrNotHeld)
	require.NoError(t, next(), "a lost hold's unlock leaves the next holder alone")
}

func maxHoldEnds(t *testing.T, lab Lab) {
	n := name(t)
	held, unlock := take(t, within(t), lab.Lock(0, n, lock.MaxHold(lab.Lease/4)))
	_, next := take(t, within(t), lab.Lock(1, n))
	loss(t, context.Cause(held), lock.LossMaxHold)
	loss(t, unlock(), lock.LossMaxHold)
	require.NoError(t, next())
}

// The lock is kept after unlock, from its own process and the other one.
func minHoldKeeps(t *testing.T, lab Lab) {
	n, least := name(t), 2*lab.Lease
	began := time.Now()
	held, unlock := take(t, within(t), lab.Lock(0, n, lock.MinHold(least)))
	require.NoError(t, unlock())
	only(t, context.Cause(held), lock.ErrReleased)
	_, err := lab.Lock(0, n).Held(held)
	only(t, err, lock.ErrNotHeld)
	for client := range 2 {
		_, _, err = lab.Lock(client, n).TryLock(within(t))
		only(t, err, lock.ErrBusy)
	}
	_, next := take(t, within(t), lab.Lock(1, n))
	require.True(t, time.Since(began) >= least, "the lock was free too early")
	require.NoError(t, next())
	soonFree(t, lab.Lock(0, n))
}

// The context ends before the validity, and nobody else has the lock until that is over, though it was unlocked.
func graceEndsEarly(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n, lock.FixedLease(lab.Lease), lock.Grace(lab.Lease/2))
	held, unlock := take(t, within(t), l)
	hold, err := l.Held(held)
	require.NoError(t, err)
	cause := ended(t, held)
	loss(t, cause, lock.LossExpired)
	require.True(t, strings.Contains(cause.Error(), "Grace began"), "%v", cause)
	loss(t, unlock(), lock.LossExpired)
	_, next := take(t, within(t), lab.Lock(1, n))
	require.True(t, !time.Now().Before(hold.ValidUntil), "another had the lock before the validity was over")
	require.NoError(t, next())
}

// The work failed and the lock was lost meanwhile: neither error hides the other, on one line.
func doJoinsTheErrors(t *testing.T, lab Lab) {
	l := lab.Lock(0, name(t), lock.FixedLease(lab.Lease))
	err := l.Do(within(t), func(ctx context.Context) error {
		require.ErrorIs(t, ended(t, ctx), lock.ErrLost)
		return errWork
	})
	require.ErrorIs(t, err, errWork)
	only(t, err, lock.ErrLost)
	require.NotContains(t, err.Error(), "\n")

	err = l.Do(within(t), func(ctx context.Context) error {
		_ = ended(t, ctx)
		return nil
	})
	only(t, err, lock.ErrLost)
}

func loss(t *testing.T, err error, reason lock.LossReason) {
	t.Helper()
	only(t, err, lock.ErrLost)
	var lost *lock.LostError
	require.True(t, errors.As(err, &lost), "%v", err)
	require.Equal(t, reason, lost.Reason)
	require.NotEmpty(t, lost.Name)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}
