package pglock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A holder hears of a break by a message: its next renewal is twenty minutes away, and of a fixed lease there is none.
// A break in the first moments is learned when the holder begins to listen. (defect G60)
func TestABreakIsHeard(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]lock.Option{
		"renewed": lock.Lease(time.Hour), "a fixed lease": lock.FixedLease(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, a, b := two(t, pglock.Options{Lease: time.Hour})
			other, _ := take(t, within(t), a.Lock("other", lease))
			held, _ := take(t, within(t), a.Lock("early", lease))
			require.NoError(t, b.Lock("early").Break(within(t)))
			var lost *lock.LostError
			require.ErrorAs(t, ended(t, held), &lost)

			eventually(t, func() bool { return psql(t, of, "SELECT count(*) "+listeners) != "0" }, "it listens")
			held, _ = take(t, within(t), a.Lock("late", lease))
			require.NoError(t, b.Lock("late").Break(within(t)))
			require.ErrorAs(t, ended(t, held), &lost)
			require.Equal(t, lock.LossGone, lost.Reason)
			require.NoError(t, other.Err())
		})
	}
}
