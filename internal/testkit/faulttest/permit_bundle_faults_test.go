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
	faults := map[string]faultproxy.Action{
		"connection cut after it":  faultproxy.CutAfter,
		"connection cut before it": faultproxy.CutBefore,
		"cut in the reply":         faultproxy.CutReplyAt(9),
		"reply lost":               faultproxy.DropReply,
		"request lost":             faultproxy.DropRequest,
		"carried out twice":        faultproxy.Duplicate,
	}
	for _, script := range []string{"permit_acquire_many", "permit_release_many"} {
		for fault, action := range faults {
			t.Run(script+", "+fault, func(t *testing.T) {
				t.Parallel()
				p := newFaultyPath(t)
				// No lease ends and nobody polls: a permit that was left behind stays, and is seen.
				s := semaphore.New(p.client(rlock.ClientOptions{
					Lease: faultNever, MaxPoll: faultNever, ReleaseTimeout: time.Minute,
				}), "bundled")
				const capacity = 2 * bundleCallers
				require.NoError(t, s.SetCapacity(t.Context(), capacity))
				p.permitsUntil(s, func() bool { return p.scripts(script) > 1 }) // the server knows it now
				met := p.proxy.On(faultproxy.Script(luacall.SHA(script)), action).Times(3)
				p.permitsUntil(s, func() bool { return met.Fired() == 3 })
				redistest.Eventually(t, faultSoon, func() bool {
					taken, err := p.direct.ZCard(t.Context(), "{bundled}:timeout").Result()
					require.NoError(t, err)
					return taken == 0
				}, "a permit was left behind that nobody has")
				free, err := p.direct.Get(t.Context(), "bundled").Int()
				require.NoError(t, err)
				require.Equal(t, capacity, free)
			})
		}
	}
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
