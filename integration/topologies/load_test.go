package topologies

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
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

// liveSpan is the time for which a caller treated its hold as live.
type liveSpan struct {
	name         string
	shared       bool
	began, ended time.Time
	lost         bool // and it was reported
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
						l.turn(ctx, k, lock, liveSpan{name: name, shared: shared})
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
	held, unlock, err := lock.Lock(ctx)
	b.began = time.Now()
	if err == nil {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-held.Done():
		}
		b.ended = time.Now()
		err = unlock()
		b.lost = errors.Is(err, rlock.ErrLost)
	} else if pause := time.NewTimer(5 * time.Millisecond); pause != nil {
		<-pause.C
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !b.ended.IsZero() {
		l.stays = append(l.stays, b)
		if err == nil {
			l.counts[k.name]++
		}
	}
	if err != nil && ctx.Err() == nil && !b.lost && !errors.Is(err, rlock.ErrUnavailable) &&
		!errors.Is(err, rlock.ErrUnconfirmed) {
		l.failed = append(l.failed, fmt.Errorf("%s: %w", b.name, err))
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
	select {
	case <-done:
	case <-time.After(patience):
		require.FailNow(t, "somebody is stuck")
	}
}

// check finds no two live holds of one name at the same time, unless the first was reported lost, and before its
// lease could end. It returns how many stays there were, how many were reported lost, and how many were overtaken.
func (l *load) check(t *testing.T) (stays, losses, overtaken int) {
	t.Helper()
	require.Empty(t, l.failed)
	byName := make(map[string][]liveSpan)
	for _, b := range l.stays {
		byName[b.name] = append(byName[b.name], b)
		if b.lost {
			losses++
		}
	}
	for name, all := range byName {
		sort.Slice(all, func(i, j int) bool { return all[i].began.Before(all[j].began) })
		for i, b := range all {
			for _, next := range all[i+1:] {
				if !next.began.Before(b.ended) {
					break
				}
				if b.shared && next.shared {
					continue
				}
				overtaken++
				require.True(t, b.lost || next.lost, "two held %s, and nobody was told", name)
				require.Less(t, b.ended.Sub(next.began), failoverLease, name)
			}
		}
	}
	return len(l.stays), losses, overtaken
}
