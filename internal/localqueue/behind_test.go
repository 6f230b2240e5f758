package localqueue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// marker asks behind holds of another mode, for the sake of what that leaves in the store.
type marker struct{ side }

func (marker) Excludes(held string) bool { return held == "w" }

// A waiter that asks behind a hold of its own process is told of its release, by whatever message or none.
func TestAWaiterThatAsksBehindAHoldIsSignaledWhenThatIsReleased(t *testing.T) {
	var q Queue
	q.Hold("r")
	w := &Waiter{Caller: Caller{Kind: marker{"w"}}, ID: "w"}
	q.Enter(w)
	require.Equal(t, Asking, w.Look())
	require.True(t, q.Busy(w), "it is in its way")
	q.Unhold("r")
	q.Released(0, 0)
	select {
	case <-w.Changed():
	default:
		t.Fatal("it is not told")
	}
	require.Equal(t, Asking, w.Look())
	require.False(t, q.Busy(w), "another process is in its way")
}
