package redisson_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/opendefect"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	crowdGoroutines = 2  // of each of two clients: five contenders with the Java thread
	crowdTurns      = 8  // that the Java thread must have
	crowdShare      = 12 // turns of ours to one of Java's that are too many: more than twice an equal share
)

// A Java thread that wants a lock which two processes of ours want all the time is crowded out (defect B20): before
// it has had a few turns ours have dozens. The test counts turns, so a slow machine changes little: it slows both
// sides. It ends when either side has had its turns.
func TestJavaIsCrowdedOut(t *testing.T) {
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	other := newGo(t, g.servers[0].Client(t), rlock.ClientOptions{}, g.servers...)
	const name = "crowded"
	ctx, stop := context.WithCancel(context.Background())
	var ours atomic.Int64
	ended := make(chan struct{})
	var crowd sync.WaitGroup
	defer func() { stop(); crowd.Wait() }()
	th := j.thread("java")
	th.do("lock", name)
	for _, side := range []*goSide{g, other} {
		for range crowdGoroutines {
			crowd.Go(func() {
				for ctx.Err() == nil {
					_ = side.lock(name).Do(ctx, func(context.Context) error {
						if ours.Add(1) == crowdTurns*crowdShare {
							close(ended)
						}
						return nil
					})
				}
			})
		}
	}
	opendefect.Shows(t, "B20", `^Java had [0-7] turns while ours had 96$`, func() error {
		th.do("unlock", name)
		for turns := range crowdTurns {
			in := th.start("lock", name)
			select {
			case a := <-in:
				require.Empty(t, a.err)
			case <-ended:
				stop()
				javaArrives(t, in)
				return fmt.Errorf("Java had %d turns while ours had %d", turns, crowdTurns*crowdShare)
			}
			th.do("unlock", name)
		}
		return nil
	})
}
