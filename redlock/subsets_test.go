package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// subset is a client of its own to whom a set of the five nodes goes away.
type subset struct {
	*lab
	name   string
	mask   int
	enough bool // the others are a quorum
	lock   *rlock.Lock
	ctx    context.Context
	unlock func() error
	cuts   []*faultproxy.Rule
}

// newSubset is a client that reaches the servers of l by proxies of its own, and knows them.
func (l *lab) newSubset(name string, mask int, o redlock.Options) *subset {
	l.t.Helper()
	s := &subset{lab: &lab{t: l.t, servers: l.servers}, name: name, mask: mask}
	away := 0
	for i, server := range l.servers {
		s.proxies = append(s.proxies, faultproxy.Start(l.t, server.Addr()))
		away += mask >> i & 1
	}
	s.enough = away <= 2
	client := s.client(s.proxied(), o)
	once(l.t, redlock.New(client, name+":warm"))
	s.lock = redlock.New(client, name)
	return s
}

// take has the subset hold its lock on all nodes.
func (s *subset) take() {
	s.t.Helper()
	var err error
	s.ctx, s.unlock, err = s.lock.Lock(context.Background()) // the hold alone ends the context
	require.NoError(s.t, err)
	s.soonOn(s.name, 0, 1, 2, 3, 4)
}

// away cuts every connection to the nodes of the mask, and each new one at its first request.
func (s *subset) away() {
	anything := func(faultproxy.Request) bool { return true }
	for i, p := range s.proxies {
		if s.mask>>i&1 == 1 {
			s.cuts = append(s.cuts, p.On(anything, faultproxy.CutBefore).Times(-1))
			p.CutAll()
		}
	}
}

// back ends that.
func (s *subset) back() {
	for _, rule := range s.cuts {
		rule.Times(0)
	}
}

// renewed waits for a renewal that began when the nodes were away, or for the end of the hold.
func (s *subset) renewed() error {
	before := s.events.renewals(s.name)
	for !s.enough || s.events.renewals(s.name) < before+2 { // the first may have been under way
		select {
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		case <-time.After(time.Millisecond): // until the observer is told
		}
	}
	return nil
}

// stages are what a client does while nodes are away.
var stages = map[string]struct {
	lease time.Duration // short only where the end of one is waited for
	held  bool          // before they go away
	act   func(s *subset) error
	fails error // without a quorum
}{
	"acquisition": {lease: time.Minute, fails: rlock.ErrUnavailable, act: func(s *subset) (err error) {
		_, s.unlock, err = s.lock.TryLock(within(s.t))
		return err
	}},
	"renewal": {lease: 9 * time.Second, held: true, fails: rlock.ErrLost, act: (*subset).renewed},
	"re-entry": {lease: 9 * time.Second, held: true, fails: rlock.ErrUnavailable, act: func(s *subset) error {
		_, leave, err := s.lock.Lock(s.ctx)
		if err == nil {
			err = leave()
		}
		return err
	}},
	"release": {lease: time.Minute, held: true, fails: rlock.ErrUnavailable, act: func(s *subset) error {
		return s.unlock()
	}},
}

// Every set of nodes may be away, at every stage: what is left of five decides, and nothing else. No limit here
// is one that a busy machine comes near to: all sets are away at one time, so that their leases end together.
func TestEverySubsetOfNodesAtEveryStage(t *testing.T) {
	t.Parallel()
	for name, stage := range stages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 5)
			o := options(stage.lease)
			o.NodeTimeout, o.ReleaseTimeout = min(stage.lease/6, 3*time.Second), 5*time.Second
			var sets [32]*subset
			for mask := range sets {
				sets[mask] = l.newSubset(fmt.Sprintf("%s:%05b", name, mask), mask, o)
			}
			for _, s := range sets {
				if stage.held {
					s.take()
				}
			}
			var errs [len(sets)]error
			var acts sync.WaitGroup
			for mask, s := range sets {
				s.away()
				acts.Go(func() { errs[mask] = stage.act(s) })
			}
			acts.Wait()
			for _, s := range sets {
				s.back()
			}
			for mask, s := range sets {
				require.Equal(t, s.enough, errs[mask] == nil, "mask %05b: %v", mask, errs[mask])
				if !s.enough {
					require.ErrorIs(t, errs[mask], stage.fails, "mask %05b", mask)
				}
				if name != "release" {
					_ = s.unlock()
				}
				redistest.Eventually(t, patience, func() bool { return len(l.on(s.name, 0, 1, 2, 3, 4)) == 0 },
					"nothing should be left of "+s.name)
			}
		})
	}
}
