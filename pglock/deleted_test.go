package pglock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/pglock"
)

// Who finds no row does not know which tokens were given before, and has no number below the clock's: the last holder
// may have had it a moment ago. Free rows may be deleted at any time.
func TestATokenIsAboveThoseOfARowThatWasDeleted(t *testing.T) {
	t.Parallel()
	url, a, b := two(t, pglock.Options{Lease: time.Minute, MaxPoll: 50 * time.Millisecond})
	held, unlock := take(t, within(t), b.Lock("order"))
	last, err := b.Lock("order").Held(held)
	require.NoError(t, err)
	tokens, checked := make(chan int64, 2), make(chan struct{})
	for range 2 { // the second, so that the first could pass the lock on, with a token right above its own
		go func() {
			_ = a.Lock("order").Do(within(t), func(ctx context.Context) error {
				hold, err := a.Lock("order").Held(ctx)
				tokens <- hold.Fence
				<-checked
				return err
			})
		}()
	}
	pgtest.Eventually(t, func() bool { return a.Stats().Waiters == 2 }, "both wait")
	// As if the row had been deleted when it was free, and the others had come at once.
	pgtest.Run(t, url, "DELETE FROM holdfast_lock")
	first := await(t, tokens, "one has the lock")
	fresh := pgtest.Run(t, url, "SELECT fence FROM holdfast_lock")
	close(checked)
	require.Equal(t, fresh, fmt.Sprint(first))
	require.Greater(t, first, last.Fence)
	require.Greater(t, await(t, tokens, "the other has the lock"), first)
	require.Error(t, unlock())
}
