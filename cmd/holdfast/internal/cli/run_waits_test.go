//go:build unix && !aix

package cli

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/rlock"
)

// A run that waits says so after a second, and then every half minute and no more often, however Redis answers; and
// nothing once it has the lock (defect F17).
func TestAWaitIsToldAfterASecondAndThenEveryHalfMinute(t *testing.T) {
	held := rlock.Info{Held: 3, Holders: []rlock.Holder{{ID: java + ":1", Owner: "web-3 pid 7 holdfast\x1b[31m"}}}
	for what, test := range map[string]struct {
		look func(ctx context.Context) (rlock.Info, error)
		says string
	}{
		"an owner": {
			func(context.Context) (rlock.Info, error) { return held, nil },
			`holdfast: waiting for order:1, held by web-3 pid 7 holdfast\x1b[31m and 2 more`,
		},
		"nobody just now": {
			func(context.Context) (rlock.Info, error) { return rlock.Info{}, nil },
			"holdfast: waiting for order:1",
		},
		"a server that hangs": {
			func(ctx context.Context) (rlock.Info, error) {
				<-ctx.Done()
				return rlock.Info{}, fmt.Errorf("%w: %w", rlock.ErrUnavailable, ctx.Err())
			},
			"holdfast: waiting: Redis does not answer (redis.example.com:6379)",
		},
		"no server": {
			func(context.Context) (rlock.Info, error) {
				return rlock.Info{}, fmt.Errorf("%w: %w", rlock.ErrUnavailable, fmt.Errorf("refused by redis.example.com:6379"))
			},
			"holdfast: waiting: Redis does not answer: refused by redis.example.com:6379",
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := &connection{at: "redis.example.com:6379", muted: new(atomic.Bool)}
				var out textlog.Log
				lines := func() int { synctest.Wait(); return strings.Count(out.String(), "\n") }
				ended := new(runFlags).tell(t.Context(), &out, conn, "order:1", lockable{look: test.look})
				begun := time.Now()
				for _, at := range []time.Duration{time.Second, 31 * time.Second, 61 * time.Second} {
					before := lines()
					time.Sleep(time.Until(begun.Add(at)) - time.Millisecond)
					assert.Equal(t, before, lines(), "just before %v", at)
					time.Sleep(time.Millisecond)
					assert.Equal(t, before+1, lines(), "at %v", at)
				}
				assert.Equal(t, strings.Repeat(test.says+"\n", 3), out.String())
				assert.True(t, conn.muted.Load(), "the client's log would say it again")
				ended()
				assert.False(t, conn.muted.Load())
				time.Sleep(time.Hour)
				assert.Equal(t, 3, lines())
			})
		})
	}
}

// A run that need not wait for long says nothing, and one that is to be quiet never does (defect F17).
func TestNoWordOfAShortOrAQuietWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &connection{muted: new(atomic.Bool)}
		looked := 0
		lock := lockable{look: func(context.Context) (rlock.Info, error) { looked++; return rlock.Info{}, nil }}
		var out textlog.Log
		ended := new(runFlags).tell(t.Context(), &out, conn, "order:1", lock)
		time.Sleep(400 * time.Millisecond)
		ended()
		assert.Zero(t, looked, "nothing is asked for a lock that is free")
		ended = (&runFlags{quiet: true}).tell(t.Context(), &out, conn, "order:1", lock)
		time.Sleep(time.Hour)
		assert.True(t, conn.muted.Load(), "its client is quiet too")
		ended()
		assert.False(t, conn.muted.Load())
		assert.Zero(t, looked)
		assert.Empty(t, out.String())
	})
}
