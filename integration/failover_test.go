package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Need 15: a failover to a replica that had not received the lock, the hazard that the documentation describes.
// Another client gets the lock at once. The holder learns of it within a renewal period and a command's limit, and
// what it writes until then carries the lower token.
func TestALossyFailoverIsToldAsALoss(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	primary := redistest.Start(t)
	replica := replicaOf(t, primary)
	rdb, aim := following(t, primary)
	holder, _ := newClient(t, rdb, rlock.ClientOptions{Lease: lease})
	other, _ := newClient(t, rdb, rlock.ClientOptions{Lease: lease})

	// The replica keeps its data, and receives nothing more.
	ctx := context.Background()
	require.NoError(t, replica.Client(t).ReplicaOf(ctx, "127.0.0.1", "1").Err())
	mine := rlock.New(holder, "failover")
	stale, unlock := held(t, mine)
	fence := alive(t, mine, stale).Fence
	require.False(t, exists(t, replica, "failover"))

	primary.Kill()
	require.NoError(t, replica.Client(t).ReplicaOf(ctx, "NO", "ONE").Err())
	aim(replica)
	failed := time.Now()

	theirs := rlock.New(other, "failover")
	fresh, release := held(t, theirs)
	require.Greater(t, alive(t, theirs, fresh).Fence, fence, "storage can turn the stale holder away")
	redistest.Receive(t, limit, stale.Done(), "the stale holder was never told")
	require.Less(t, time.Since(failed), lease, "it was told before its lease would have been over")
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(stale), &lost)
	require.Equal(t, rlock.LossGone, lost.Reason)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	require.NoError(t, fresh.Err(), "and the new holder is left alone")
	require.NoError(t, release())
}
