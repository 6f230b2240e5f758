package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// The close of one client ends the whole, and what the others hold is released, though nobody unlocks.
func TestCloseOfOneClientFreesTheRest(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rival, n := clientAt(t, server.Addr(), nil), names(t, 2)
	for closes := range n {
		both := []*rlock.Client{clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)}
		all := []*rlock.Lock{rlock.New(both[0], n[0]), rlock.New(both[1], n[1])}
		held, unlock, err := multilock.New(all).Lock(within(t))
		require.NoError(t, err)
		require.ErrorContains(t, both[closes].Close(), n[closes], "it was still held")
		<-held.Done()
		require.ErrorIs(t, context.Cause(held), rlock.ErrClosed)
		free(t, rival, n...)
		_, err = all[1-closes].Held(held)
		require.ErrorIs(t, err, rlock.ErrClosed, "why the other was given back")
		require.ErrorIs(t, unlock(), rlock.ErrClosed)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
}

// Closing the client at any moment of a call leaves nothing, and the call says so.
func TestCloseAtAnyMoment(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	rival, n := clientAt(t, server.Addr(), nil), names(t, 3)
	for i := range 60 {
		c := clientAt(t, server.Addr(), nil)
		got := lockBeside(within(t), multilock.New(locks(c, n...)))
		time.Sleep(time.Duration(i) * 20 * time.Microsecond)
		_ = c.Close() // it names what it found held, were it only on its way to the caller
		o := <-got
		if o.err == nil {
			<-o.held.Done()
			_ = o.unlock() // it is ErrClosed, or nil if it came before
		} else {
			require.ErrorIs(t, o.err, rlock.ErrClosed)
		}
		for _, name := range n {
			_, unlock, err := rlock.New(rival, name).TryLock(within(t))
			require.NoError(t, err, "round %d", i)
			require.NoError(t, unlock())
		}
	}
}
