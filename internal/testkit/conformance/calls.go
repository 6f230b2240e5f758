package conformance

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/lock"
)

var calls = []contract{
	{"DoReturnsTheFunctionsError", 0, doReturnsTheError},
	{"DoReleasesOnPanic", 0, doReleasesOnPanic},
	{"DoReleasesOnGoexit", 0, doReleasesOnGoexit},
	{"DoDoesNotCallWithoutTheLock", 0, doDoesNotCall},
}

var errWork = errors.New("the work failed")

func doReturnsTheError(t *testing.T, lab Lab) {
	n := name(t)
	l := lab.Lock(0, n)
	var inside context.Context
	err := l.Do(within(t), func(ctx context.Context) error {
		inside = ctx
		busy(t, lab.Lock(1, n), "inside Do")
		return errWork
	})
	require.ErrorIs(t, err, errWork)
	only(t, err, nil)
	require.ErrorIs(t, context.Cause(inside), lock.ErrReleased)
	free(t, lab.Lock(1, n))
	require.NoError(t, l.Do(within(t), func(context.Context) error { return nil }))
}

func doReleasesOnPanic(t *testing.T, lab Lab) {
	n := name(t)
	require.PanicsWithValue(t, "the work panics", func() {
		_ = lab.Lock(0, n).Do(within(t), func(context.Context) error { panic("the work panics") })
	})
	free(t, lab.Lock(1, n))
}

// This is the effect of t.FailNow inside Do.
func doReleasesOnGoexit(t *testing.T, lab Lab) {
	n := name(t)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = lab.Lock(0, n).Do(within(t), func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	}()
	await(t, gone, "the goroutine ends")
	free(t, lab.Lock(1, n))
}

func doDoesNotCall(t *testing.T, lab Lab) {
	n := name(t)
	_, unlock := take(t, within(t), lab.Lock(0, n))
	err := Answered(func(d time.Duration) error {
		return lab.Lock(1, n, lock.MaxWait(d)).Do(within(t), func(context.Context) error {
			t.Error("the function was called without the lock")
			return nil
		})
	})
	only(t, err, lock.ErrBusy)
	require.NoError(t, unlock())
}
