package faulttest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// bundleCallers are many more than commands are under way at a time, so that the others' gather.
const bundleCallers = 32

var bundleFaults = map[string]faultproxy.Action{
	"connection cut after it":  faultproxy.CutAfter,
	"connection cut before it": faultproxy.CutBefore,
	"cut in the reply":         faultproxy.CutReplyAt(9),
	"reply lost":               faultproxy.DropReply,
	"request lost":             faultproxy.DropRequest,
	"carried out twice":        faultproxy.Duplicate,
}

// G3 for calls that share one script, of which a fault meets all at once: each of them takes its lock once,
// whatever became of the request and of the reply, and its unlock says nothing but the truth.
func TestFaultsOfBundlesMeetEachCallAlone(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"acquire_many", "release_many"} {
		for fault, action := range bundleFaults {
			t.Run(script+", "+fault, func(t *testing.T) {
				t.Parallel()
				p, client := newBundlingPath(t)
				before := p.server.Calls(t, "hset")
				met := p.proxy.On(faultproxy.Script(luacall.SHA(script)), action).Times(3)
				turns := p.turnsUntil(client, func() bool { return met.Fired() == 3 })
				require.Equal(t, before+turns, p.server.Calls(t, "hset"), "a call took its lock not once")
				p.cleansUp(faultSoon)
			})
		}
	}
}

// turnsUntil has every caller lock and unlock a name of its own until enough has happened, and counts that.
func (p *faultyPath) turnsUntil(client *rlock.Client, enough func() bool) int64 {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var turns atomic.Int64
	var callers sync.WaitGroup
	for i := range bundleCallers {
		callers.Go(func() {
			name := fmt.Sprintf("bundled:%d", i)
			lock := rlock.New(client, name)
			for first := true; first || !enough(); first = false {
				_, unlock, err := lock.Lock(ctx)
				if !assert.NoError(p.t, err) {
					return
				}
				turns.Add(1)
				fields, err := p.direct.HGetAll(ctx, name).Result()
				assert.NoError(p.t, err)
				assert.Len(p.t, fields, 1, "held by more than one")
				for _, count := range fields {
					assert.Equal(p.t, "1", count)
				}
				assert.NoError(p.t, unlock())
			}
		})
	}
	callers.Wait()
	require.True(p.t, enough(), "the fault was not met")
	return turns.Load()
}

// newBundlingPath is a path on which the server knows the scripts for many, so that no fault hits the request for
// them. The lease is longer than any wait for a hold to go, so leftovers do not end by themselves. A release has
// time for all the faults: on a busy machine one bundle may meet them one after another.
func newBundlingPath(t *testing.T) (*faultyPath, *rlock.Client) {
	t.Helper()
	p := newFaultyPath(t)
	client := p.client(rlock.ClientOptions{
		Lease: faultNever, MaxPoll: faultNever, ReleaseTimeout: time.Minute,
	})
	p.turnsUntil(client, func() bool { return p.scripts("acquire_many") > 1 && p.scripts("release_many") > 1 })
	return p, client
}

// G4: the contexts of all end while a script that serves them is under way. All return at once, and what
// it took for them is given back.
func TestABundleThatNobodyWaitsForIsGivenBack(t *testing.T) {
	t.Parallel()
	p, client := newBundlingPath(t)
	gate := faultproxy.NewGate()
	granted := p.proxy.On(faultproxy.Script(luacall.SHA("acquire_many")), faultproxy.HoldReply(gate)).Times(-1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var callers sync.WaitGroup
	for i := range bundleCallers {
		callers.Go(func() {
			lock := rlock.New(client, fmt.Sprintf("abandoned:%d", i))
			for ctx.Err() == nil {
				_, unlock, err := lock.Lock(ctx)
				if err != nil {
					assert.ErrorIs(t, err, context.Canceled)
					continue
				}
				assert.NoError(t, unlock())
			}
		})
	}
	granted.Wait(t, 1)
	require.NotEmpty(t, p.lockKeys(), "it has taken some")
	cancel()
	returned := make(chan struct{})
	go func() { callers.Wait(); close(returned) }()
	redistest.Receive(t, faultSoon, returned, "they wait for the reply")
	gate.Open()
	p.cleansUp(faultSoon)
}

// G3: a script for many that comes when they have all gone on takes nothing that stays.
func TestALateBundleTakesNothingForGood(t *testing.T) {
	t.Parallel()
	p, client := newBundlingPath(t)
	gate := faultproxy.NewGate()
	late := p.proxy.On(faultproxy.Script(luacall.SHA("acquire_many")), faultproxy.Late(gate))
	p.turnsUntil(client, func() bool { return late.Fired() == 1 })
	gate.Open()
	<-gate.Delivered()
	p.cleansUp(faultSoon)
}
