// Package contest has clients of a store contend while a test does something to its servers: two of them take
// turns with one lock, and a third holds another lock all the time. It knows no store: a test brings the clients.
package contest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/lock"
)

// Team is two clients that take turns with one lock until they are told to stop.
type Team struct {
	began   time.Time
	running sync.WaitGroup
	stop    context.CancelFunc
	turns   [2]atomic.Int64

	mu    sync.Mutex // guards what follows
	holds []witness.Hold
	odd   []error // those that a fault does not explain
}

const name = "taken-in-turns"

// Play starts the two, and returns once each has had some turns.
func Play(t *testing.T, clients [2]lock.Provider) *Team {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &Team{began: time.Now(), stop: cancel}
	for i, c := range clients {
		p.running.Go(func() {
			for ctx.Err() == nil {
				p.turn(ctx, c, i)
			}
		})
	}
	t.Cleanup(func() { cancel(); p.running.Wait() })
	p.GoesOn(t)
	return p
}

// turn is one: a lock, some work, an unlock.
func (p *Team) turn(ctx context.Context, c lock.Provider, i int) {
	l := c.Lock(name)
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		p.expect(err, lock.ErrUnavailable, context.Canceled)
		return
	}
	h := witness.Hold{Name: name, Who: fmt.Sprint("client ", i), From: time.Since(p.began)}
	hold, err := l.Held(held)
	p.expect(err, lock.ErrLost)
	h.Fence, h.To = hold.Fence, h.From
	over := time.After(20 * time.Millisecond)
	for working := true; working; {
		select {
		case <-over:
			working = false
		case <-held.Done():
			working = false
		case <-time.After(time.Millisecond):
		}
		if now := time.Since(p.began); held.Err() == nil {
			h.To = now // it was live then
		}
	}
	p.mu.Lock()
	p.holds = append(p.holds, h)
	p.mu.Unlock()
	p.turns[i].Add(1)
	p.expect(unlock(), lock.ErrLost, lock.ErrUnconfirmed)
}

// expect notes an error unless it is one of those.
func (p *Team) expect(err error, ones ...error) {
	if err == nil {
		return
	}
	for _, one := range ones {
		if errors.Is(err, one) {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.odd = append(p.odd, err)
}

// GoesOn waits until both have had some more turns.
func (p *Team) GoesOn(t *testing.T) {
	t.Helper()
	const some = 3
	var from [2]int64
	for i := range p.turns {
		from[i] = p.turns[i].Load()
	}
	servers.Eventually(t, patience, func() bool {
		return p.turns[0].Load() >= from[0]+some && p.turns[1].Load() >= from[1]+some
	}, "both have their turns")
}

// Judge ends the game: no two holds were live at the same time, tokens grew, and each error has a fault that explains
// it.
func (p *Team) Judge(t *testing.T) {
	t.Helper()
	p.stop()
	p.running.Wait()
	require.Empty(t, p.odd)
	require.NoError(t, witness.Judge(p.holds))
	slices.SortFunc(p.holds, func(a, b witness.Hold) int { return cmp.Compare(a.From, b.From) })
	stall := time.Duration(0)
	for i := range len(p.holds) - 1 {
		stall = max(stall, p.holds[i+1].From-p.holds[i].To)
	}
	t.Logf("%d turns, and none for %v at most", len(p.holds), stall.Round(time.Millisecond))
}
