package semaphore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestHeldTellsOfThePermitsThatTheContextCarries(t *testing.T) {
	t.Parallel()
	client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	ctx := context.Background()
	s := semaphore.New(client, redistest.Key(t))
	require.NoError(t, s.SetCapacity(ctx, 5))
	_, err = s.Held(ctx)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
	held, release, err := s.Acquire(ctx, 3)
	require.NoError(t, err)
	hold, err := s.Held(held)
	require.NoError(t, err)
	info, err := s.Inspect(ctx)
	require.NoError(t, err)
	require.Len(t, info.Holders, 1)
	assert.Equal(t, info.Holders[0].ID, hold.ID)
	assert.Zero(t, hold.Fence)
	assert.Equal(t, 1, hold.Count)
	assert.True(t, hold.ValidUntil.After(time.Now()))
	_, err = semaphore.New(client, redistest.Key(t)).Held(held)
	require.ErrorIs(t, err, rlock.ErrNotHeld, "of another semaphore")
	require.NoError(t, release())
	_, err = s.Held(held)
	require.ErrorIs(t, err, rlock.ErrNotHeld)
}
