package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	orphanCallers = 64
	orphanClients = 4
	orphanNames   = 100
)

// orphanStorm counts what came of calls whose contexts end at any point.
type orphanStorm struct {
	t       *testing.T
	path    *faultyPath
	cuts    bool // connections are cut meanwhile
	trouble *faultproxy.Rule
	locks   [orphanClients][orphanNames]*rlock.Lock
	inside  [orphanNames]atomic.Int32
	span    atomic.Int64 // the longest that a context lives, ns

	held    atomic.Int64 // nil error
	known   sync.Map     // the ids of holds that somebody had
	outlast atomic.Int64 // of these, those whose context ended while they held
	refused atomic.Int64 // the context was over before the call
	gaveUp  atomic.Int64 // it ended during the call
	failed  atomic.Int64 // TryLock found the lock held, or its attempts cut off
}

// G4, need 8: calls whose contexts end before, during and after the grant leave nothing behind, and no
// error means held, always; also while connections break, under requests and under replies.
func TestNoCallLeavesAnOrphanWheneverItsContextEnds(t *testing.T) {
	t.Parallel()
	for network, calls := range map[string]int{"slow network": 10_000, "breaking network": 2_000} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			s := &orphanStorm{t: t, path: newFaultyPath(t), cuts: network == "breaking network"}
			s.path.proxy.Latency(200 * time.Microsecond)
			s.trouble = s.path.proxy.On(faultproxy.AnyScript, s.disturb).Times(-1)
			s.run(calls)
		})
	}
}

// disturb delays a request, and sometimes cuts its connection before or after it is carried out.
func (s *orphanStorm) disturb(x *faultproxy.Exchange) {
	kind := rand.IntN(50)
	switch {
	case s.cuts && kind == 0:
		faultproxy.CutBefore(x)
	case s.cuts && kind <= 2:
		faultproxy.CutAfter(x)
	default:
		faultproxy.Delay(rand.N(3 * time.Millisecond))(x)
	}
}

func (s *orphanStorm) run(calls int) {
	t, p := s.t, s.path
	var clients []*rlock.Client
	for i := range s.locks {
		clients = append(clients, p.client(rlock.ClientOptions{}))
		for j := range s.locks[i] {
			s.locks[i][j] = rlock.New(clients[i], fmt.Sprintf("orphan:%d", j))
		}
	}
	s.span.Store(int64(80 * time.Millisecond))
	if s.cuts {
		s.span.Store(int64(320 * time.Millisecond)) // connections are made again all the time
	}
	var callers sync.WaitGroup
	for caller := range orphanCallers {
		callers.Go(func() {
			for n := caller; n < calls; n += orphanCallers {
				s.call(caller % orphanClients)
			}
		})
	}
	callers.Wait()
	s.trouble.Times(0)
	p.cleansUp(faultSoon)

	grants, known := p.server.Calls(t, "hset"), int64(0)
	s.known.Range(func(any, any) bool { known++; return true })
	t.Logf("held %d (context over meanwhile: %d), refused %d, gave up %d, failed %d; grants %d, of which somebody had %d",
		s.held.Load(), s.outlast.Load(), s.refused.Load(), s.gaveUp.Load(), s.failed.Load(), grants, known)
	// The test says something only if every kind occurred, grants that nobody waited for included.
	enough := int64(calls / 200)
	require.Greater(t, s.held.Load(), enough)
	require.Positive(t, s.outlast.Load())
	require.Greater(t, s.refused.Load(), enough)
	require.Greater(t, s.gaveUp.Load(), enough)
	require.Greater(t, grants, known, "no grant was abandoned")

	for _, client := range clients {
		require.NoError(t, client.Close())
	}
	redistest.Eventually(t, faultSoon, func() bool { return len(p.server.PubSubChannels(t)) == 0 },
		"a closed client is still subscribed")
}

// call makes one call and checks what came of it.
func (s *orphanStorm) call(client int) {
	name := rand.IntN(orphanNames)
	lock := s.locks[client][name]
	ctx, cancel, refused := s.doomed()
	defer cancel()
	method, try := lock.Lock, rand.IntN(4) == 0
	if try {
		method = lock.TryLock
	}
	held, unlock, err := method(ctx)
	switch {
	case err == nil:
		assert.False(s.t, refused, "a call with a context that was over succeeded")
		s.enter(lock, name, held, unlock)
	case refused:
		s.refused.Add(1)
		assert.ErrorIs(s.t, err, context.Canceled)
	case try && (errors.Is(err, rlock.ErrBusy) || s.cuts && errors.Is(err, rlock.ErrUnavailable)):
		s.failed.Add(1)
	default:
		s.adapt(s.gaveUp.Add(1))
		assert.Error(s.t, ctx.Err(), "the call gave up before its context did: %v", err)
		assert.ErrorIs(s.t, err, ctx.Err()) // and nothing else, if the context was over before the call
	}
	if err != nil {
		assert.ErrorIs(s.t, unlock(), rlock.ErrNotHeld)
		assert.True(s.t, held == ctx, "on error the context is the one that was given")
	}
}

// adapt lets contexts live longer on a machine so busy that hardly any call succeeds.
func (s *orphanStorm) adapt(gaveUp int64) {
	if gaveUp%128 == 0 && s.held.Load()*4 < gaveUp && s.span.Load() < int64(4*time.Second) {
		s.span.Store(s.span.Load() * 2)
	}
}

// doomed makes a context that is over, or is cancelled, or has a deadline.
func (s *orphanStorm) doomed() (_ context.Context, _ context.CancelFunc, refused bool) {
	after := rand.N(time.Duration(s.span.Load()))
	kind := rand.IntN(5)
	if kind >= 3 {
		ctx, cancel := context.WithTimeout(s.t.Context(), after)
		return ctx, cancel, false
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	if kind == 0 {
		cancel()
		return ctx, cancel, true
	}
	timer := time.AfterFunc(after, cancel)
	return ctx, func() { timer.Stop(); cancel() }, false
}

// enter checks that a call without an error holds, by the server's word too, and alone.
func (s *orphanStorm) enter(lock *rlock.Lock, name int, held context.Context, unlock func() error) {
	s.held.Add(1)
	assert.Equal(s.t, int32(1), s.inside[name].Add(1), "two hold one lock")
	hold, err := lock.Held(held)
	if assert.NoError(s.t, err) {
		s.known.Store(hold.ID, true)
		there, err := s.path.direct.HExists(s.t.Context(), lock.Name(), hold.ID).Result()
		assert.NoError(s.t, err)
		assert.True(s.t, there, "no error, but Redis has no hold")
	}
	if held.Err() != nil {
		s.outlast.Add(1)
	}
	s.inside[name].Add(-1)
	assert.NoError(s.t, unlock())
}
