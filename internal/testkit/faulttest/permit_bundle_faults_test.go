package faulttest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// G3 for permits of one semaphore that share a script: whatever became of it and of its reply, nobody's release finds
// the permit gone, and in the end exactly those are free that there were.
func TestFaultsOfBundlesOfPermits(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"permit_acquire_many", "permit_release_many"} {
		for fault, action := range bundleFaults {
			t.Run(script+", "+fault, func(t *testing.T) {
				t.Parallel()
				p, s := newPermitPath(t)
				met := p.proxy.On(faultproxy.Script(luacall.SHA(script)), action).Times(3)
				p.permitsUntil(s, func() bool { return met.Fired() == 3 })
				p.permitsComeBack()
			})
		}
	}
}

// G4: the contexts of all end while a script that takes permits for them is under way. All return at once, and the
// permits come back.
func TestPermitsThatNobodyWaitsForComeBack(t *testing.T) {
	t.Parallel()
	p, s := newPermitPath(t)
	gate := faultproxy.NewGate()
	granted := p.proxy.On(faultproxy.Script(luacall.SHA("permit_acquire_many")), faultproxy.HoldReply(gate)).Times(-1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for range bundleCallers {
		callers.Go(func() {
			for ctx.Err() == nil {
				_, release, err := s.Acquire(ctx, 1)
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					continue
				}
				assert.NoError(t, release())
			}
		})
	}
	granted.Wait(t, 1)
	require.Positive(t, p.permitsTaken(), "it has taken some")
	cancel()
	returned := make(chan struct{})
	go func() { callers.Wait(); close(returned) }()
	redistest.Receive(t, faultSoon, returned, "they wait for the reply")
	gate.Open()
	p.permitsComeBack()
}

// G3: a script for many permits that comes when all callers have gone on takes nothing that stays.
func TestALateBundleOfPermitsTakesNothingForGood(t *testing.T) {
	t.Parallel()
	p, s := newPermitPath(t)
	gate := faultproxy.NewGate()
	late := p.proxy.On(faultproxy.Script(luacall.SHA("permit_acquire_many")), faultproxy.Late(gate))
	p.permitsUntil(s, func() bool { return late.Fired() == 1 })
	gate.Open()
	<-gate.Delivered()
	p.permitsComeBack()
}

const permitCapacity = 2 * bundleCallers

// newPermitPath is newBundlingPath for a semaphore. No lease ends and nobody polls: a permit that was left behind stays,
// and is seen.
func newPermitPath(t *testing.T) (*faultyPath, *semaphore.Semaphore) {
	t.Helper()
	p := newFaultyPath(t)
	s := semaphore.New(p.client(rlock.ClientOptions{
		Lease: faultNever, MaxPoll: faultNever, ReleaseTimeout: time.Minute,
	}), "bundled")
	require.NoError(t, s.SetCapacity(t.Context(), permitCapacity))
	p.permitsUntil(s, func() bool {
		return p.scripts("permit_acquire_many") > 1 && p.scripts("permit_release_many") > 1
	})
	return p, s
}

func (p *faultyPath) permitsTaken() int64 {
	p.t.Helper()
	taken, err := p.direct.ZCard(p.t.Context(), "{bundled}:timeout").Result()
	require.NoError(p.t, err)
	return taken
}

// permitsComeBack waits until no permit is taken, and then all must be free.
func (p *faultyPath) permitsComeBack() {
	p.t.Helper()
	redistest.Eventually(p.t, faultSoon, func() bool { return p.permitsTaken() == 0 },
		"a permit was left behind that nobody has")
	free, err := p.direct.Get(p.t.Context(), "bundled").Int()
	require.NoError(p.t, err)
	require.Equal(p.t, permitCapacity, free)
}

// permitsUntil has every caller acquire and release a permit until enough has happened.
func (p *faultyPath) permitsUntil(s *semaphore.Semaphore, enough func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	for range bundleCallers {
		callers.Go(func() {
			for first := true; first || !enough(); first = false {
				_, release, err := s.Acquire(ctx, 1)
				if !assert.NoError(p.t, err) {
					return
				}
				assert.NoError(p.t, release())
			}
		})
	}
	callers.Wait()
	require.True(p.t, enough(), "the fault was not met")
}
