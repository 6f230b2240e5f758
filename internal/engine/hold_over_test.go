package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/hold"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Bug of our own: a request whose reply came after the lease made a hold that the wheel ended before the table had it,
// and that nobody took off the table any more.
func TestAGrantThatWasOverBeforeItWasListedIsInNobodysWay(t *testing.T) {
	for name, list := range map[string]func(f *floor, dead *Grant){
		"asked for": func(f *floor, dead *Grant) {
			f.drop("w1")
			f.table.win(f.waiters["w2"], dead)
		},
		"come without waiting": func(f *floor, dead *Grant) {
			f.drop("w1")
			f.table.leave(f.waiters["w2"])
			f.table.add(dead)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFloor(t)
			f.come("w1")
			f.come("w2", "w3")
			f.win("w1")
			dead := f.hold("w2")
			require.True(t, dead.Claim())
			_, ended := dead.End(hold.Released, nil)
			require.True(t, ended)
			f.drop("w2") // in vain
			list(f, dead)
			f.asking("w3")
			f.table.leave(f.waiters["w3"])
			f.empty()
		})
	}
}

// Bug of our own: a hold that had just ended when its renewal was due had the store renew nothing, which crashed that
// of a redlock.
func TestARenewalOfHoldsThatAreOverSendsNothing(t *testing.T) {
	f := newFloor(t) // which has no store
	dead := f.hold("w1")
	require.True(t, dead.Claim())
	_, ended := dead.End(hold.Released, nil)
	require.True(t, ended)
	results := make([]watchdog.Result, 1)
	f.engine.renew(t.Context(), "", []*watchdog.Lease{&dead.Lease}, results)
	require.ErrorIs(t, results[0].Err, errHeldOver)
}
