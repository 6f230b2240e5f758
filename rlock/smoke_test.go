package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestSmoke(t *testing.T) {
	s := redistest.Start(t)
	c, err := rlock.NewClient(s.Client(t), nil)
	require.NoError(t, err)
	l := rlock.New(c, "a")
	ctx := context.Background()
	h, unlock, err := l.Lock(ctx)
	require.NoError(t, err)
	h2, unlock2, err := l.Lock(h)
	require.NoError(t, err)
	hold, err := l.Held(h2)
	require.NoError(t, err)
	t.Logf("%+v", hold)
	info, err := l.Inspect(ctx)
	t.Logf("%+v %v", info, err)
	require.NoError(t, unlock2())
	_, _, err = l.TryLock(ctx)
	require.ErrorIs(t, err, rlock.ErrBusy)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, u, err := l.Lock(ctx)
		require.NoError(t, err)
		require.NoError(t, u())
	}()
	time.Sleep(10 * time.Millisecond)
	require.NoError(t, unlock())
	<-done
	require.Equal(t, rlock.ErrReleased, context.Cause(h))
	require.NoError(t, c.Close())
}
