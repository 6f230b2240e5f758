package memstore_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// A TryLock that is refused because of somebody who does not know of the queue listens to nobody: it does not wait.
func TestATryListensToNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(nil)
		defer server.Close()
		stranger, _ := open(t, server, 0, true, minute)
		client, _ := open(t, server, 1, true, minute)
		_, unlock, err := rlock.New(stranger, "a").Lock(t.Context())
		require.NoError(t, err)
		_, _, err = fairlock.New(client, "a").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		time.Sleep(minute)
		require.Empty(t, server.Left())
	})
}
