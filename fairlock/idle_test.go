package fairlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// gaps is how long nobody has had the lock at a time.
type gaps struct {
	mu      sync.Mutex // guards all below
	in      int
	since   time.Time // nobody has had it
	longest time.Duration
}

func (g *gaps) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in == 0 && !g.since.IsZero() {
		g.longest = max(g.longest, time.Since(g.since))
	}
	g.in++
}

func (g *gaps) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in--; g.in == 0 {
		g.since = time.Now()
	}
}

// Processes pass the lock on in memory while holds are taken from them in the middle of their turns: broken by another
// process, or deleted. However the two fall together, the lock is not kept for anybody whose turn is over. An
// invitation that nobody answers would stand for 3 s here (defect F9).
func TestTheLockIsNotIdleAfterHoldsAreTaken(t *testing.T) {
	t.Parallel()
	const poll, most = 2 * time.Second, 2700 * time.Millisecond
	for name, takes := range map[string]func(l *lab, rival *peer, id string) error{
		"broken":  func(_ *lab, rival *peer, id string) error { return rival.BreakOne(context.Background(), id) },
		"deleted": func(l *lab, _ *peer, _ string) error { return l.rdb.Del(context.Background(), l.name).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			peers := []*peer{l.peer(rlock.ClientOptions{MaxPoll: poll}), l.peer(rlock.ClientOptions{MaxPoll: poll})}
			var g gaps
			var working sync.WaitGroup
			for i, p := range peers {
				rival := peers[1-i]
				for range 6 {
					working.Go(func() {
						for range 40 {
							held, unlock, err := p.Lock.Lock(context.Background())
							if !assert.NoError(t, err) {
								return
							}
							g.enter()
							known, _ := p.Held(held)
							<-time.After(rand.N(2 * time.Millisecond))
							if known.ID != "" && rand.IntN(30) == 0 {
								if err := takes(l, rival, known.ID); !errors.Is(err, rlock.ErrNotHeld) {
									assert.NoError(t, err)
								}
							}
							g.leave()
							if err := unlock(); !errors.Is(err, rlock.ErrLost) {
								assert.NoError(t, err)
							}
						}
					})
				}
			}
			working.Wait()
			t.Logf("nobody had the lock for %v at most", g.longest)
			require.Less(t, g.longest, most)
			l.clean()
		})
	}
}
