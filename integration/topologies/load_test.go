package topologies

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/rlock"
)

// load is two processes that take locks of every kind all the time.
type load struct {
	cancel  context.CancelFunc
	workers sync.WaitGroup
	kinds   []kind

	mu     sync.Mutex // guards all below
	stays  []liveSpan
	counts map[string]int // stays by kind
	failed []error
}

// liveSpan is the time for which a caller treated its hold as live. Who is the id of its grant, which turns that are
// passed on have in common.
type liveSpan struct {
	witness.Hold
	asked  time.Duration // when its Lock was called
	shared bool
	lost   bool // and it was reported
}

func startLoad(t *testing.T, s *site, both ...*process) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, kinds: s.kinds(), counts: make(map[string]int)}
	for _, k := range l.kinds {
		name := "load:" + strings.ReplaceAll(k.name, " ", "")
		for i, p := range both {
			lock, shared := k.make(p, name), k.lacks&conformance.Exclusion != 0
			if i > 0 {
				lock, shared = k.other(p, name), false
			}
			for range 2 {
				l.workers.Go(func() {
					for ctx.Err() == nil {
						l.turn(ctx, k, lock, liveSpan{Hold: witness.Hold{Name: name}, shared: shared})
					}
				})
			}
		}
	}
	t.Cleanup(func() {
		cancel()
		l.workers.Wait()
	})
	return l
}

// turn is one stay. Only what Redis cannot do without a primary may be refused or lost.
func (l *load) turn(ctx context.Context, k kind, lock conformance.Lock, b liveSpan) {
	b.asked = stamp.Now()
	held, unlock, err := lock.Lock(ctx)
	b.From = stamp.Now()
	if err == nil {
		if hold, err := lock.Held(held); err == nil { // if not it is lost, as unlock will say
			b.Who = hold.ID
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-held.Done():
		}
		b.To = stamp.Now()
		err = unlock()
		b.lost = errors.Is(err, rlock.ErrLost)
	} else if pause := time.NewTimer(5 * time.Millisecond); pause != nil {
		<-pause.C
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.To != 0 {
		l.stays = append(l.stays, b)
		if err == nil {
			l.counts[k.name]++
		}
	}
	if err != nil && ctx.Err() == nil && !b.lost && !errors.Is(err, rlock.ErrUnavailable) &&
		!errors.Is(err, rlock.ErrUnconfirmed) {
		l.failed = append(l.failed, fmt.Errorf("%s: %w", b.Name, err))
	}
}

// progress waits until every kind was taken some times more.
func (l *load) progress(t *testing.T, when string) {
	t.Helper()
	l.mu.Lock()
	before := make(map[string]int)
	for name, n := range l.counts {
		before[name] = n
	}
	l.mu.Unlock()
	for _, k := range l.kinds {
		redistest.Eventually(t, patience, func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.counts[k.name] >= before[k.name]+10
		}, k.name+" gets nowhere "+when)
	}
}

// stop ends the load; no call may hang.
func (l *load) stop(t *testing.T) {
	t.Helper()
	l.cancel()
	done := make(chan struct{})
	go func() {
		l.workers.Wait()
		close(done)
	}()
	redistest.Receive(t, patience, done, "somebody is stuck")
}

// outage is when the primaries died and were replaced.
type outage struct{ died, replaced time.Duration }

// forgot reports that a primary which died may have been all that knew of one of two holds. If that one ends just then,
// its owner is told nothing: the release is sent to the dead primary first and to its replacement then, which does not
// know the hold, as it would not if the first release had been carried out; or the grant is passed on in memory.
func (o outage) forgot(p witness.Pair[liveSpan], asked map[string]time.Duration) bool {
	first := min(asked[p.Earlier.Who], asked[p.Later.Who])
	return first < o.replaced && p.Later.From > o.died
}

// check finds no two live holds of one name at the same time, unless one of them was reported lost, and before its lease
// could end, or may have been forgotten: with MinReplicas nothing may. It returns how many stays there were, how many
// were reported lost, and how many were overtaken.
func (l *load) check(t *testing.T, o outage, replicas int) (stays, losses, overtaken int) {
	t.Helper()
	require.Empty(t, l.failed)
	asked := make(map[string]time.Duration) // when a grant was asked for
	for _, b := range l.stays {
		if b.lost {
			losses++
		}
		if first, known := asked[b.Who]; !known || b.asked < first {
			asked[b.Who] = b.asked
		}
	}
	for _, p := range witness.Overlaps(l.stays) {
		if p.Earlier.shared && p.Later.shared {
			continue
		}
		overtaken++
		told := p.Earlier.lost || p.Later.lost
		require.True(t, told || replicas == 0 && o.forgot(p, asked), "two held a name, and nobody was told: %v", p)
		require.Less(t, p.Earlier.To-p.Later.From, failoverLease, "%v", p)
	}
	return len(l.stays), losses, overtaken
}
