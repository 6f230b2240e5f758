package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// What a frozen server is sent it reads when it thaws: what is in time then has its effect, what is too late has none.
func TestAFrozenServerReadsLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(nil)
		t.Cleanup(server.Close)
		one, _ := open(t, server, 0, true, time.Minute)
		other, _ := open(t, server, 1, true, time.Minute)
		server.Freeze()
		server.Freeze()
		in := make(chan error, 1)
		go func() {
			_, _, err := rlock.New(one, "a").Lock(context.Background())
			in <- err
		}()
		hurried, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _, err := rlock.New(other, "b").Lock(hurried)
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		server.Thaw()
		synctest.Wait()
		require.Empty(t, in, "it was frozen twice")
		server.Thaw()
		synctest.Wait()
		require.NoError(t, <-in)
		_, _, err = rlock.New(other, "a").TryLock(context.Background())
		require.ErrorIs(t, err, rlock.ErrBusy)
		time.Sleep(time.Minute)
		exclusive, _ := server.Holds("b")
		require.Zero(t, exclusive, "who left has not got it")
	})
}
