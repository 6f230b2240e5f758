package zklock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/zklock"
)

// However many wait, each looks who stands there when it comes, and when it is its turn: a release wakes one.
func TestAReleaseWakesOne(t *testing.T) {
	t.Parallel()
	const waiters = 60
	sent, plain := &wire{}, connect(t, zktest.Shared(t).Addr())
	name := nameOf(t)
	_, unlock := take(t, client(t, zklock.Options{}).Lock(name))
	var inside, turns atomic.Int32
	var waiting sync.WaitGroup
	for i := range waiters {
		c := client(t, zklock.Options{Dial: sent.Dial})
		waiting.Go(func() {
			err := c.Lock(name).Do(within(t), func(context.Context) error {
				if inside.Add(1) != 1 {
					t.Error("two holders")
				}
				if int(turns.Add(1)) != i+1 {
					t.Error("not in the order in which they came")
				}
				inside.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		plain.stand(t, pathOf(name), i+2)
	}
	require.Equal(t, waiters, sent.Count(listing))
	require.NoError(t, unlock())
	waiting.Wait()
	require.EqualValues(t, waiters, turns.Load())
	require.Equal(t, 2*waiters-1, sent.Count(listing), "the first of them has its turn without asking")
	require.Equal(t, waiters, sent.Count(acquiring))
	require.Equal(t, waiters, sent.Count(releasing))
}
