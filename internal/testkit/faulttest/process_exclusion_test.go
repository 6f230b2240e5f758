package faulttest_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
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

// processStay is one critical section: its first and its last moment, both taken inside.
type processStay struct {
	process, caller int
	from, to        time.Duration
	fence           int64
}

// processContender is a process whose goroutines lock and unlock one name for a while. It starts when it
// has read a line, and at the end prints every stay, and then "done".
var processContender = role.New("contender", func(o processContest) {
	client := o.client(nil)
	lock := rlock.New(client, o.Name)
	role.Told()
	var all sync.WaitGroup
	stays := make([][]processStay, processCallers)
	for caller := range stays {
		all.Go(func() {
			for end := stamp.Now() + o.Span; stamp.Now() < end; {
				s, err := o.enter(lock)
				role.Check(err)
				s.caller = caller
				stays[caller] = append(stays[caller], s)
			}
		})
	}
	all.Wait()
	role.Check(client.Close())
	for _, s := range slices.Concat(stays...) {
		fmt.Println("stay", s.caller, int64(s.from), int64(s.to), s.fence)
	}
	fmt.Println("done")
})

// enter takes the lock, stays inside for a moment, and leaves.
func (o processContest) enter(lock *rlock.Lock) (s processStay, err error) {
	stay := func(fence int64) {
		s = processStay{from: stamp.Now(), fence: fence}
		time.Sleep(50 * time.Microsecond) // so that a second one inside would show
		s.to = stamp.Now()
	}
	if !o.Guard {
		stay(int64(stamp.Now()))
		return s, nil
	}
	err = lock.Do(context.Background(), func(ctx context.Context) error {
		hold, err := lock.Held(ctx)
		if err == nil {
			stay(hold.Fence)
		}
		return err
	})
	return s, err
}

// processContend runs the contenders and collects their stays.
func (p *faultyPath) processContend(span time.Duration, guard bool) (stays []processStay) {
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
	for i, child := range children {
		for line := child.Hear(); line != "done"; line = child.Hear() {
			s := processStay{process: i}
			_, err := fmt.Sscanf(strings.TrimPrefix(line, "stay "), "%d %d %d %d",
				&s.caller, &s.from, &s.to, &s.fence)
			require.NoError(p.t, err, line)
			stays = append(stays, s)
		}
	}
	return stays
}

// processOverlaps sweeps over stays and describes the first two that overlap, or that are not in the
// order of their tokens; "" if there are none.
func processOverlaps(stays []processStay) string {
	slices.SortFunc(stays, func(a, b processStay) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(stays); i++ {
		before, s := stays[i-1], stays[i]
		// All earlier ones ended before the one before began, or the sweep had ended there.
		if s.from <= before.to {
			return fmt.Sprintf("%+v and %+v overlap", before, s)
		}
		if s.fence <= before.fence {
			return fmt.Sprintf("the token of %+v is not above that of %+v", s, before)
		}
	}
	return ""
}

// G1, G13: four processes with four goroutines each exclude one another, tokens grow in the order of the
// stays, and everybody gets his turns.
func TestProcessesExcludeOneAnother(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	stays := p.processContend(3*time.Second, true)
	require.Empty(t, processOverlaps(stays))
	turns := make(map[[2]int]int)
	for _, s := range stays {
		turns[[2]int{s.process, s.caller}]++
	}
	require.Len(t, turns, processCount*processCallers, "somebody never got in")
	t.Logf("%d stays: %v", len(stays), turns)
	p.cleansUp(faultSoon)
}

// The detector finds what it is there for: without the lock, the same processes overlap.
func TestProcessesWithoutTheLockOverlap(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	require.Contains(t, processOverlaps(p.processContend(300*time.Millisecond, false)), "overlap")
}

func TestOverlapDetector(t *testing.T) {
	t.Parallel()
	a := processStay{from: 10, to: 20, fence: 1}
	cases := map[string]struct {
		b    processStay
		want string
	}{
		"after":       {processStay{from: 21, to: 30, fence: 2}, ""},
		"touching":    {processStay{from: 20, to: 30, fence: 2}, "overlap"},
		"inside":      {processStay{from: 12, to: 13, fence: 2}, "overlap"},
		"around":      {processStay{from: 1, to: 30, fence: 2}, "overlap"},
		"same token":  {processStay{from: 21, to: 30, fence: 1}, "token"},
		"lower token": {processStay{from: 21, to: 30, fence: 0}, "token"},
	}
	for name, c := range cases {
		for _, stays := range [][]processStay{{a, c.b}, {c.b, a}} {
			if c.want == "" {
				require.Empty(t, processOverlaps(stays), name)
			} else {
				require.Contains(t, processOverlaps(stays), c.want, name)
			}
		}
	}
}
