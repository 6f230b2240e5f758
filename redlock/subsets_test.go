package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
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

// newSubset is a client that reaches the servers of l by proxies of its own. What is to succeed has times that no
// machine is too busy for; leases are short only where the end of one is waited for.
func (l *lab) newSubset(name string, mask int, st stage) *subset {
	l.t.Helper()
	s := &subset{lab: &lab{t: l.t, servers: l.servers}, name: name, mask: mask}
	away := 0
	for i, server := range l.servers {
		s.proxies = append(s.proxies, faultproxy.Start(l.t, server.Addr()))
		away += mask >> i & 1
	}
	s.enough = away <= 2
	o := options(18 * time.Second)
	o.NodeTimeout, o.ReleaseTimeout = 3*time.Second, patience
	if !s.enough {
		o.ReleaseTimeout = 200 * time.Millisecond
		if st.ends {
			o.Lease, o.NodeTimeout = 6*time.Second, time.Second
		}
	}
	client := s.client(s.proxied(), o)
	s.lock = redlock.New(client, name)
	_, unlock := take(l.t, redlock.New(client, name+":warm"))
	_ = unlock() // which may take longer than where it is to fail
	if st.held {
		var err error
		s.ctx, s.unlock, err = s.lock.Lock(context.Background()) // the hold alone ends the context
		require.NoError(l.t, err)
		if s.enough || !st.ends {
			s.soonOn(s.name, 0, 1, 2, 3, 4)
		}
	}
	return s
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

// stage is what a client does while nodes are away.
type stage struct {
	held  bool // before they go away
	ends  bool // without a quorum, with the lease
	act   func(s *subset) error
	fails error // without a quorum
}

var stages = map[string]stage{
	"acquisition": {fails: rlock.ErrUnavailable, act: func(s *subset) (err error) {
		_, s.unlock, err = s.lock.TryLock(within(s.t))
		return err
	}},
	"renewal": {held: true, ends: true, fails: rlock.ErrLost, act: (*subset).renewed},
	"release": {held: true, fails: rlock.ErrUnconfirmed, act: func(s *subset) error {
		return s.unlock()
	}},
}

// Every set of nodes may be down, at every stage: the rest of the five decides, and nothing else.
func TestEverySubsetOfNodesAtEveryStage(t *testing.T) {
	t.Parallel()
	for name, st := range stages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, 5)
			var sets [32]*subset
			var errs [len(sets)]error
			var acts sync.WaitGroup
			for mask := range sets {
				s := l.newSubset(fmt.Sprintf("%s:%05b", name, mask), mask, st)
				s.away()
				sets[mask] = s
				acts.Go(func() { errs[mask] = st.act(s) })
				if !st.ends {
					acts.Wait() // the others wait for time to pass, and do so together
				}
			}
			acts.Wait()
			for mask, s := range sets {
				require.Equal(t, s.enough, errs[mask] == nil, "mask %05b: %v", mask, errs[mask])
				if !s.enough {
					require.ErrorIs(t, errs[mask], st.fails, "mask %05b", mask)
				}
				s.back()
			}
			for _, s := range sets {
				if name != "release" {
					_ = s.unlock()
				}
				redistest.Eventually(t, patience, func() bool { return len(l.on(s.name, 0, 1, 2, 3, 4)) == 0 },
					"nothing should be left of "+s.name)
			}
		})
	}
}
