package memstore_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// echoing loses the answer to an acquisition, and has the server read a copy of it later.
type echoing struct {
	again time.Duration
	sent  atomic.Int64
}

func (d *echoing) Fate(r memstore.Request) memstore.Fate {
	fate := near{}.Fate(r)
	if r.Kind == memstore.Acquire && d.sent.Add(1) == 2 { // the first one learns the time
		fate.Mute, fate.Again = true, d.again
	}
	return fate
}

// An export waits for copies of its acquisition no longer than a command may take, also where the server's clock was set
// back, and a copy may come for longer (seed 58694395613). What such a copy takes ends with its lease.
func TestAnExportDoesNotWaitForAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &echoing{again: 10 * time.Second}
		server := memstore.NewServer(network)
		defer server.Close()
		exporter, _ := open(t, server, 0, true, minute)
		importer, _ := open(t, server, 1, true, minute)
		there := rlock.New(importer, "a")
		held, _, err := rlock.New(exporter, "a").Lock(t.Context())
		require.NoError(t, err)
		server.SetBack(time.Hour)
		began := time.Now()
		token, err := rlock.New(exporter, "a").Export(held)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), 3*time.Second+10*time.Millisecond)
		_, unlock, err := there.Import(t.Context(), token)
		require.NoError(t, err)
		require.NoError(t, unlock())
		time.Sleep(time.Until(began.Add(network.again + time.Second)))
		_, unlock, err = there.Lock(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), network.again+minute)
		require.NoError(t, unlock())
		require.NoError(t, exporter.Close())
		require.NoError(t, importer.Close())
	})
}
