package wake_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
)

// Replaced nodes come back under other addresses. The line of an address that nobody needs any more ends, with its two
// goroutines and its connection (defect B22).
func TestLinesOfAddressesThatAreGoneEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		var serves atomic.Value // the address of the node that serves all
		hub := newHub(t, server.Options(), func(c *wake.Config) {
			c.Shard = func(context.Context, string) string { return serves.Load().(string) }
		})
		for i := range 6 {
			serves.Store(fmt.Sprint("10.0.0.", i, ":6379"))
			listening(t, hub, "a").Leave()
			require.Equal(t, []string{serves.Load().(string)}, hub.Shards())
			time.Sleep(40 * time.Second)
			require.Empty(t, hub.Shards())
		}
	})
}

// A line that nobody needs ends whether its connection stands or is broken, and not before half a minute has passed:
// until then a caller that waits finds the connection there.
func TestAConnectionThatNobodyNeedsStaysForAWhile(t *testing.T) {
	for name, broken := range map[string]bool{"standing": false, "broken": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := simredis.New(t)
				hub := newHub(t, server.Options())
				for range 3 {
					listening(t, hub, "a").Leave()
					dials := server.Dials()
					time.Sleep(29 * time.Second)
					listening(t, hub, "b").Leave()
					require.Equal(t, dials, server.Dials())
					if broken {
						server.CutAll()
					}
					time.Sleep(time.Minute + 10*time.Second)
					require.Empty(t, hub.Shards())
				}
			})
		})
	}
}

// A caller may come at any moment while a line ends: it is woken.
func TestACallerThatComesWhileALineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		hub := newHub(t, server.Options())
		for after := 29 * time.Second; after < 37*time.Second; after += 10 * time.Millisecond {
			listening(t, hub, "a").Leave()
			time.Sleep(after)
			ticket := listening(t, hub, "b")
			server.Miniredis().Publish("b", "")
			woken(t, ticket, "a message was published")
			ticket.Leave()
		}
	})
}

// The line is over, and not yet out of the hub.
func TestACallerThatComesToALineThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := simredis.New(t)
		hub := newHub(t, server.Options())
		listening(t, hub, "a").Leave()
		time.Sleep(time.Second)
		hub.EndAll()
		ticket := listening(t, hub, "b")
		server.Miniredis().Publish("b", "")
		woken(t, ticket, "a message was published")
		ticket.Leave()
	})
}
