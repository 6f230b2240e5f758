package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/require"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/lock"
)

// refusals are the cases of what a lock lacks: it says so, and sends nothing.
var refusals = []contract{
	{"ALeaseThatTheStoreDoesNotKeepIsRefused", 0, leasesAreRefused},
	{"AMinHoldThatIsNotKeptIsRefused", Options, minHoldIsRefused},
	{"AnExportThatIsNotPossibleIsRefused", 0, exportIsRefused},
	{"ANoteThatNobodyCanReadIsRefused", 0, noteIsRefused},
}

func leasesAreRefused(t *testing.T, lab Lab) {
	var bad []time.Duration
	if lab.Leases.Least > 0 {
		bad = append(bad, lab.Leases.Least/2)
	}
	if lab.Leases.Step > 0 {
		bad = append(bad, lab.Lease+lab.Leases.Step/2)
	}
	for _, lease := range bad {
		argumentRefused(t, lab, "FixedLease", lab.Lock(0, name(t), lock.FixedLease(lease)).Lock)
	}
}

func minHoldIsRefused(t *testing.T, lab Lab) {
	if lab.Lacks&MinHolds != 0 {
		argumentRefused(t, lab, "MinHold", lab.Lock(0, name(t), lock.MinHold(lab.Lease)).Lock)
	}
}

func exportIsRefused(t *testing.T, lab Lab) {
	l := lab.Lock(0, name(t))
	m, moves := l.(mover)
	if lab.Lacks&Moves == 0 || !moves {
		return
	}
	held, unlock := take(t, within(t), l)
	_, err := m.Export(held)
	var bad *lock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.NoError(t, held.Err(), "it is held as before")
	require.NoError(t, unlock())
}

func noteIsRefused(t *testing.T, lab Lab) {
	l, ok := lab.Lock(0, name(t)).(*lock.Lock)
	if lab.Lacks&Notes != 0 && ok {
		argumentRefused(t, lab, "lock", leader.New(l, leader.Value("value")).Campaign)
	}
}

// argumentRefused asserts that a call fails because of an argument and sends nothing.
func argumentRefused(
	t *testing.T, lab Lab, argument string, call func(context.Context) (context.Context, func() error, error),
) {
	t.Helper()
	sendsNothing(t, lab, func() {
		ctx := within(t)
		same, nothing, err := call(ctx)
		var bad *lock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, argument, bad.Name)
		only(t, err, nil)
		refused(t, ctx, same, nothing)
	}, "a call that is refused")
}
