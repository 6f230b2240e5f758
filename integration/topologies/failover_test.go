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

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/rlock"
)

// failoverLease is longer than any of the failovers here takes, as recommended.
const failoverLease = 6 * time.Second

// Every primary dies under load. Replication is asynchronous, so holds can be lost: the holder of a lost one
// learns of it, unless it unlocks just then, no call hangs, and afterwards every caller gets the lock again. With
// MinReplicas what would be lost is refused instead; the log says how many of each.
func TestFailoverUnderLoad(t *testing.T) {
	for _, top := range topologies[1:4] {
		for _, replicas := range []int{0, 1} {
			if top.name == "sentinel" && replicas > 0 {
				continue // after its failover there is no replica for a while
			}
			t.Run(fmt.Sprintf("%s, MinReplicas %d", top.name, replicas), func(t *testing.T) {
				t.Parallel()
				s := top.start(t)
				t.Cleanup(func() { s.clean(t) })
				failover(t, s, replicas)
			})
		}
	}
}

func failover(t *testing.T, s *site, replicas int) {
	opts := rlock.ClientOptions{Lease: failoverLease, MaxPoll: 200 * time.Millisecond, MinReplicas: replicas}
	here, there := s.process(t, opts), s.process(t, opts)
	early, late := s.sitters(t, here, "early"), s.sitters(t, here, "late")
	for i := range early {
		early[i].sit(t)
	}
	s.replicate(t, early)
	l := startLoad(t, s, here, there)
	l.progress(t, "before the failover")
	refused := 0
	cut := s.cut(t)
	if cut {
		refused = sitDown(t, late, replicas)
	}
	o := outage{died: stamp.Now()}
	s.fail(t)
	o.replaced = stamp.Now()
	lost := 0
	for _, sat := range late {
		if sat.stay.ctx != nil {
			sat.told(t)
			lost++
		}
	}
	l.progress(t, "after the failover")
	l.stop(t)
	survived := 0
	for _, sat := range early {
		if sat.over(t, there) {
			survived++
		}
	}
	stays, losses, overtaken := l.check(t, o, replicas)
	t.Logf("under load: %d stays, %d told of a loss, %d overtaken; held before: %d of %d live on; "+
		"asked for when the replicas heard nothing: %d granted and lost, %d refused",
		stays, losses, overtaken, survived, len(early), lost, refused)
	if cut && replicas == 0 {
		require.Equal(t, len(late), lost)
		require.Zero(t, refused)
	} else if cut {
		require.Zero(t, lost)
		require.Equal(t, len(late), refused)
		require.Equal(t, len(early), survived, "they were confirmed")
	}
}

// sitter is a hold that is kept throughout.
type sitter struct {
	kind kind
	name string
	stay stay
}

func (s *site) sitters(t *testing.T, p *process, word string) (all []*sitter) {
	t.Helper()
	for _, k := range s.kinds() {
		name := word + ":" + strings.ReplaceAll(k.name, " ", "")
		all = append(all, &sitter{kind: k, name: name, stay: stay{lock: k.make(p, name)}})
	}
	return all
}

func (s *sitter) sit(t *testing.T) {
	t.Helper()
	redistest.Eventually(t, patience, func() bool { // replicas of a busy machine may confirm too late
		s.stay = enter(s.stay.lock)
		return s.stay.err == nil
	}, "nobody gets in: "+s.name)
}

// sitDown makes all of them try, and returns how many were refused; those leave nothing behind.
func sitDown(t *testing.T, all []*sitter, replicas int) (refused int) {
	t.Helper()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			ctx, unlock, err := s.stay.lock.TryLock(context.Background())
			s.stay = stay{lock: s.stay.lock, err: err}
			if err == nil {
				s.stay.ctx, s.stay.unlock = ctx, unlock
			}
		})
	}
	wg.Wait()
	for _, s := range all {
		if s.stay.err != nil {
			require.Positive(t, replicas, "%v", s.stay.err)
			require.ErrorIs(t, s.stay.err, rlock.ErrUnavailable)
			require.ErrorContains(t, s.stay.err, "0 of 1 replicas")
			refused++
		}
	}
	return refused
}

// told waits until the loss is reported.
func (s *sitter) told(t *testing.T) {
	t.Helper()
	redistest.Receive(t, patience, s.stay.ctx.Done(), "a loss was never told: "+s.name)
	require.ErrorIs(t, context.Cause(s.stay.ctx), rlock.ErrLost, s.name)
	require.ErrorIs(t, s.stay.unlock(), rlock.ErrLost, s.name)
}

// over ends a hold that is live, or was reported lost. It reports which.
func (s *sitter) over(t *testing.T, other *process) (lives bool) {
	t.Helper()
	if s.stay.ctx.Err() != nil {
		require.ErrorIs(t, context.Cause(s.stay.ctx), rlock.ErrLost, s.name)
		require.ErrorIs(t, s.stay.unlock(), rlock.ErrLost, s.name)
		return false
	}
	_, unlock, err := s.kind.other(other, s.name).TryLock(within(t))
	if err == nil { // it was lost, which unlock will report at the latest
		require.NoError(t, unlock())
		require.ErrorIs(t, s.stay.unlock(), rlock.ErrLost, s.name)
		return false
	}
	require.ErrorIs(t, err, rlock.ErrBusy, s.name)
	err = s.stay.unlock()
	if errors.Is(err, rlock.ErrLost) {
		return false
	}
	require.NoError(t, err, s.name)
	return true
}

// replicate waits until every replica has all holds.
func (s *site) replicate(t *testing.T, all []*sitter) {
	t.Helper()
	redistest.Eventually(t, patience, func() bool {
		for _, primary := range s.primaries(t) {
			info := primary.Info(t, "replication")
			for _, field := range []string{"slave0", "slave1"} {
				if at, ok := info[field]; ok && !strings.Contains(at, "offset="+info["master_repl_offset"]) {
					return false
				}
			}
		}
		return true
	}, "the replicas do not catch up")
	require.NotEmpty(t, all)
}
