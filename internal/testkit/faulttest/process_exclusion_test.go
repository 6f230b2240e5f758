package faulttest_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	processCount   = 4
	processCallers = 4 // in each
)

// processContest is what a contender is told.
type processContest struct {
	processOrders
	Span  time.Duration
	Guard bool // whether the lock is taken
}

// processContender is a process whose goroutines lock and unlock one name for a while. It starts when it
// has read a line, tells every stay, and says "done".
var processContender = role.New("contender", func(o processContest) {
	client := o.client(nil)
	lock := rlock.New(client, o.Name)
	role.Told()
	var all sync.WaitGroup
	for caller := range processCallers {
		all.Go(func() {
			for end := stamp.Now() + o.Span; stamp.Now() < end; {
				role.Check(o.enter(lock, fmt.Sprint(os.Getpid(), "/", caller)))
			}
		})
	}
	all.Wait()
	role.Check(client.Close())
	fmt.Println("done")
})

// enter takes the lock, stays inside for a moment, and leaves.
func (o processContest) enter(lock *rlock.Lock, who string) error {
	s := witness.Hold{Name: o.Name, Who: who}
	stay := func(fence int64) {
		s.From, s.Fence = stamp.Now(), fence
		time.Sleep(50 * time.Microsecond) // so that a second one inside would show
		s.To = stamp.Now()
	}
	if !o.Guard {
		stay(int64(stamp.Now()))
		s.Tell()
		return nil
	}
	err := lock.Do(context.Background(), func(ctx context.Context) error {
		hold, err := lock.Held(ctx)
		if err == nil {
			stay(hold.Fence)
		}
		return err
	})
	s.Tell()
	return err
}

// processContend runs the contenders and collects their stays.
func (p *faultyPath) processContend(span time.Duration, guard bool) (stays []witness.Hold) {
	p.t.Helper()
	var children []*role.Process
	for range processCount {
		children = append(children, processContender.Start(p.t, processContest{
			processOrders: processOrders{Addr: p.server.Addr(), Name: "contended", Lease: 30 * time.Second},
			Span:          span, Guard: guard,
		}))
	}
	for _, child := range children {
		child.Say("go")
	}
	for _, child := range children {
		stays = append(stays, witness.Heard(p.t, child, "done", 2*faultSoon)...)
		require.NoError(p.t, child.Ended(faultSoon))
	}
	return stays
}

// G1, G13: four processes with four goroutines each exclude one another, tokens grow in the order of the
// stays, and everybody gets his turns.
func TestProcessesExcludeOneAnother(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	stays := p.processContend(3*time.Second, true)
	require.NoError(t, witness.Judge(stays))
	turns := make(map[string]int)
	for _, s := range stays {
		turns[s.Who]++
	}
	require.Len(t, turns, processCount*processCallers, "somebody never got in")
	t.Logf("%d stays: %v", len(stays), turns)
	p.cleansUp(faultSoon)
}

// The detector finds what it is there for: without the lock, the same processes overlap.
func TestProcessesWithoutTheLockOverlap(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	require.ErrorContains(t, witness.Judge(p.processContend(300*time.Millisecond, false)), "overlaps")
}
