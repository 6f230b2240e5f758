package wake_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/opendefect"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
)

// defect B22: replaced nodes come back under other addresses, and the line of each address that was ever subscribed
// to stays until the hub is closed, with its two goroutines.
func TestLinesOfAddressesThatAreGoneAreKept(t *testing.T) {
	opendefect.Shows(t, "B22", `^5 lines of addresses on which nobody listens$`, func() (err error) {
		synctest.Test(t, func(t *testing.T) {
			server := simredis.New(t)
			var serves atomic.Value // the address of the node that serves all
			hub := newHub(t, server.Options(), func(c *wake.Config) {
				c.Shard = func(context.Context, string) string { return serves.Load().(string) }
			})
			for i := range 6 {
				serves.Store(fmt.Sprint("10.0.0.", i, ":6379"))
				listening(t, hub, "a").Leave()
				time.Sleep(time.Minute) // far beyond the linger
			}
			gone := slices.DeleteFunc(hub.Shards(), func(addr string) bool { return addr == serves.Load() })
			if len(gone) > 0 {
				err = fmt.Errorf("%d lines of addresses on which nobody listens", len(gone))
			}
		})
		return err
	})
}
