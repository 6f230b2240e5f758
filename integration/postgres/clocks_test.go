package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// The clock of the standby that is promoted is half a minute ahead of that of the primary, so by its clock every lease
// there has ended. (The rows' times are moved instead.) Those who lived through the change take nothing that was not
// released until a lease has passed by their own clocks: a hold that stands is renewed by the new primary, and the lock of
// a holder that died is free in the end. A program that begins after the promotion knows no better. (defect G19)
func TestAStandbyWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	r := newReplicated(t, true)
	renewed := make(chan struct{}, 1000)
	a := client(t, r.both(t), pglock.Options{Lease: lease, Observer: &lock.Observer{Renewed: func(r lock.Renewal) {
		if r.Err == nil {
			renewed <- struct{}{}
		}
	}}})
	b := client(t, r.both(t), pglock.Options{Lease: lease})
	soon := client(t, r.both(t), pglock.Options{Lease: 3 * time.Second})
	for i, c := range []*pglock.Client{a, b, soon} {
		taken(t, c.Lock(fmt.Sprint("free:", i)))
	}
	held, unlock := take(t, a.Lock("held"))
	r.primary.Run(t, "INSERT INTO holdfast_lock (name, id, until) VALUES ('dead', 'x:1', clock_timestamp()), "+
		"('left', 'x:2', clock_timestamp()); UPDATE holdfast_lock SET until = until - interval '30 seconds' "+
		"WHERE id IS NOT NULL")
	r.caughtUp(t)
	r.primary.Crash()
	r.standby.Promote(t)

	eventually(t, func() bool {
		_, _, err := b.Lock("held").TryLock(within(t))
		require.Error(t, err)
		return errors.Is(err, lock.ErrBusy)
	}, "an answer of the new primary")
	_, _, err := b.Lock("dead").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	taken(t, b.Lock("free:0"))
	taken(t, client(t, r.both(t), pglock.Options{}).Lock("left"))

	drain(renewed)
	taken(t, a.Lock("free:1"))
	await(t, renewed, "a renewal by the new primary")
	require.NoError(t, held.Err())
	got := waiter(t, b.Lock("held"))
	taken(t, soon.Lock("dead", lock.MaxWait(patience)))
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the next"))
}
